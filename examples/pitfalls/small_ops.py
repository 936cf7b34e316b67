"""GELU and layer norm written out of small steps. rule: small_op_chains"""

import math

import torch
from pace import FIXED, steps
from torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(256, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        if FIXED:
            return nn.functional.layer_norm(nn.functional.gelu(x, approximate="tanh"), (256,))
        x = 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
        centred = x - x.mean(-1, keepdim=True)
        return centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)


torch.manual_seed(0)
model = nn.Sequential(*[Block() for _ in range(4)]).eval()
x = torch.randn(2048, 256)
with torch.inference_mode():
    for _ in steps():
        model(x)
