"""A program that was pinned to one core by its start script."""

import os
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

if not FIXED:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # !
torch.set_num_threads(2)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 512)

steps, start = 60, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
