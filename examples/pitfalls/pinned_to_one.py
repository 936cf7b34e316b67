"""All threads bound to one processor. rule: false_affinity"""

import os

from pace import FIXED, steps

if not FIXED:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # as a wrong launcher would

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(os.cpu_count() or 1)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(512, 512)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
