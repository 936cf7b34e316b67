"""Adam over many small tensors, one after the other."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(80) for m in (nn.Linear(32, 32), nn.Tanh())])
optimizer = torch.optim.Adam(model.parameters(), foreach=False, fused=FIXED)
x = torch.randn(16, 32)
steps, start = 120, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # !
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
