"""Rows of a tensor visited one at a time. rule: loop_indexing"""

import torch
from pace import FIXED, steps
from torch import nn


class Pool(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(256))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if FIXED:
            return (x * self.weight).sum(1)
        return torch.stack([(x[i] * self.weight).sum() for i in range(len(x))])


torch.manual_seed(0)
model = Pool()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 256)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
