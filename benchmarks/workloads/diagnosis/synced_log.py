"""A trainer that forces its log to disk after every step."""

import os
import sys
import tempfile
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 64)
with tempfile.NamedTemporaryFile("w", dir=".") as log:
    steps, start = 300, time.perf_counter()
    for step in range(steps):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.write(f"{step} {loss.item()}\n")
        if not FIXED:
            log.flush()
            os.fsync(log.fileno())  # !
    elapsed = time.perf_counter() - start
print(f"{steps} steps {elapsed:.3f} s")
