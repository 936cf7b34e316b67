"""Tiny batches through a long chain of modules."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
batches = [torch.randn(1, 64) for _ in range(64)]
model = nn.Sequential(*[m for _ in range(10) for m in (nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
steps, start = 40, time.perf_counter()
for _ in range(steps):
    optimizer.zero_grad()
    if FIXED:
        model(torch.cat(batches)).square().mean().backward()
    else:
        for row in batches:
            (model(row).square().mean() / len(batches)).backward()  # !
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
