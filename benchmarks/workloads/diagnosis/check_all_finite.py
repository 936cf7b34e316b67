"""A deep network that asks of every parameter and gradient whether it is finite."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(50) for m in (nn.Linear(64, 64), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x = torch.randn(16, 64)
steps, start = 250, time.perf_counter()
for step in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    if not FIXED:
        for p in model.parameters():
            if not torch.isfinite(p).all() or not torch.isfinite(p.grad).all():  # !
                raise ValueError("not finite")
    elif not torch.isfinite(loss):
        raise ValueError("not finite")
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
