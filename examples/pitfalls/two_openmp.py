"""A second OpenMP runtime in the process. rule: several_openmp"""

import ctypes

import torch
from pace import FIXED, steps
from torch import nn

if not FIXED:
    ctypes.CDLL("libgomp.so.1")  # as another package's extension would: torch brings its own copy

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(512, 512)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
