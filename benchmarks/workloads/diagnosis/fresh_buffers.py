"""A filter that makes large new buffers in each step."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Conv1d(1, 1, 9, padding=4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 1, 200_000)
buffer = torch.empty(4, 1, 4_000_000)
steps, start = 60, time.perf_counter()
for _ in range(steps):
    scratch = buffer if FIXED else torch.empty(4, 1, 4_000_000)
    scratch[:, :, ::512] = 1.0  # !
    loss = (model(x) * scratch[:, :, :200_000:].mean()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
