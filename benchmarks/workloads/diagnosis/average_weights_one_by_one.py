"""A network of many layers with an exponential moving average of its weights."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(80) for m in (nn.Linear(48, 48), nn.LayerNorm(48), nn.GELU())])
average = [p.detach().clone() for p in model.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x = torch.randn(16, 48)
steps, start = 150, time.perf_counter()
for _ in range(steps):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    with torch.no_grad():
        if FIXED:
            torch._foreach_lerp_(average, list(model.parameters()), 0.01)
        else:
            for i, p in enumerate(model.parameters()):
                average[i] = 0.99 * average[i] + 0.01 * p.data.clone().detach()  # !
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
