"""Gradients written to zero instead of dropped. rule: zero_grad"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(16)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 256)
for _ in steps():
    optimizer.zero_grad(set_to_none=FIXED)
    model(x).square().mean().backward()
    optimizer.step()
