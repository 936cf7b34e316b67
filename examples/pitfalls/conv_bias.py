"""A bias that the batch norm behind it takes away again. rule: conv_bias"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
blocks = [
    layer
    for _ in range(6)
    for layer in (nn.Conv2d(32, 32, 3, padding=1, bias=not FIXED), nn.BatchNorm2d(32), nn.ReLU())
]
model = nn.Sequential(*blocks)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 32, 24, 24)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
