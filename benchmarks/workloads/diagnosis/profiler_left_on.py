"""A training loop inside torch's own profiler, whose result nobody reads."""

import contextlib
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(20) for m in (nn.Linear(32, 32), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 32)
guard = (
    contextlib.nullcontext()
    if FIXED
    else torch.autograd.profiler.profile(record_shapes=True, with_stack=True)
)
steps = 250
start = time.perf_counter()
with guard:  # !
    for _ in range(steps):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - start
print(f"{steps} steps {elapsed:.3f} s")
