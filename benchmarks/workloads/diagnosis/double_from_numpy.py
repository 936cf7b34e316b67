"""A regressor trained on what numpy gave: float64."""

import sys
import time

import numpy
import torch
from torch import nn

FIXED = "--fixed" in sys.argv

rng = numpy.random.default_rng(0)
x, y = torch.from_numpy(rng.normal(size=(512, 256))), torch.from_numpy(rng.normal(size=(512, 1)))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
if FIXED:
    x, y = x.float(), y.float()
else:
    model = model.double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def forward():
    return nn.functional.mse_loss(model(x), y)  # !


steps, start = 120, time.perf_counter()
for _ in range(steps):
    loss = forward()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
