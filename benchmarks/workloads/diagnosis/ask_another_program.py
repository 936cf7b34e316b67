"""A trainer that asks another program for the host's name whenever it logs."""

import subprocess
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(512, 64)
host = subprocess.run(["uname", "-n"], capture_output=True, text=True).stdout
lines, steps, start = [], 150, time.perf_counter()
for step in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not FIXED:
        host = subprocess.run(["uname", "-n"], capture_output=True, text=True).stdout  # !
    lines.append(f"{host.strip()} {step}")
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
