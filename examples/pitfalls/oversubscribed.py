"""Many more threads than processors. rule: oversubscription"""

import os

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
cpus = len(os.sched_getaffinity(0))
torch.set_num_threads(cpus if FIXED else 8 * cpus)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 512)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
