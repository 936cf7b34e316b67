"""Anomaly detection left on after a hunt for NaNs. rule: debug_left_on"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
torch.autograd.set_detect_anomaly(not FIXED)
model = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(64, 64), nn.Tanh())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 64)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
