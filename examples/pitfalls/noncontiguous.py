"""A layout that every step has to straighten out. rule: noncontiguous_copies"""

import torch
from pace import FIXED, steps
from torch import nn


class Mix(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x if FIXED else x.transpose(0, 1).contiguous())


torch.manual_seed(0)
model = Mix()
table = torch.randn(64, 65536)
if FIXED:
    table = table.t().contiguous()  # once
with torch.inference_mode():
    for _ in steps():
        model(table)
