"""A compiled model that falls out of its graph in every layer. rule: graph_breaks"""

import torch
from pace import FIXED, steps
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.linear(x)) * 0.5 + 1.0
        if not FIXED:
            torch._dynamo.graph_break()  # as a print, .item() or a foreign call would
        return x.sin().cos() - x.mean()


torch.manual_seed(0)
model = torch.compile(nn.Sequential(*[Block() for _ in range(6)]).eval())
x = torch.randn(64, 64)
with torch.inference_mode():
    for _ in steps():
        model(x)
