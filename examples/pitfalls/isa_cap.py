"""An instruction set cap left in the environment. rule: isa_capped"""

import os

from pace import FIXED, steps

if not FIXED:
    os.environ["ATEN_CPU_CAPABILITY"] = "default"
    os.environ["ONEDNN_MAX_CPU_ISA"] = "SSE41"

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 16, 32, 32)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
