"""A large buffer asked from the system, and given back, in every step. rule: page_faults"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 64)
a, b = torch.randn(16, 1 << 20), torch.randn(16, 1 << 20)
kept = torch.empty_like(a)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    if FIXED:
        torch.add(a, b, out=kept)
    else:
        a + b
