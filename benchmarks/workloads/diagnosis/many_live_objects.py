"""A program with millions of live objects, whose collector walks them again and again."""

import gc
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

index = [{"id": i, "neighbours": [i - 1, i + 1]} for i in range(600_000)]
if FIXED:
    gc.collect()
    gc.freeze()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
recent = []


def pairs(n):
    return [{"a": i, "b": [i]} for i in range(n)]  # !


steps, start = 150, time.perf_counter()
for step in range(steps):
    rows = pairs(4000)
    recent.append(rows)
    if len(recent) > 20:
        recent.pop(0)
    x = torch.full((256, 64), rows[-1]["a"] / 4000)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
