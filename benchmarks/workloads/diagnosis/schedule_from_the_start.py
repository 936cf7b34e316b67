"""A learning-rate schedule that is computed from step 0 again in each step."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


def rate(step):
    value = 0.1
    for i in range(step):
        value *= 0.99999 if i % 1000 else 0.9  # !
    return value


torch.manual_seed(0)
model = nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(128, 64)
lr, steps, start = 0.1, 3000, time.perf_counter()
for step in range(20_000, 20_000 + steps):
    if FIXED:
        lr *= 0.99999 if step % 1000 else 0.9
    else:
        lr = rate(step)
    optimizer.param_groups[0]["lr"] = lr * 1e-3
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not FIXED and step > 21_000:
        break
steps = step - 20_000 + 1
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
