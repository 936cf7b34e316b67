"""A loop over batches that shuffles the whole data set to draw each batch."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
data, targets = torch.randn(400_000, 16), torch.randn(400_000, 1)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
order = torch.randperm(len(data))
steps, start = 150, time.perf_counter()
for step in range(steps):
    if FIXED:
        rows = order[step * 64 : step * 64 + 64]
    else:
        rows = torch.randperm(len(data))[:64]  # !
    loss = nn.functional.mse_loss(model(data[rows]), targets[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
