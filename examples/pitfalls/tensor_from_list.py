"""A constant mask built from a Python list in every call. rule: constant_rebuilt"""

import torch
from pace import FIXED, steps
from torch import nn

SIZE = 128


def make_mask() -> torch.Tensor:
    return torch.tensor([[0.0 if j <= i else -1e9 for j in range(SIZE)] for i in range(SIZE)])


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(SIZE, SIZE)
        self.mask = make_mask()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = self.mask if FIXED else make_mask()
        return (self.linear(x) + mask).softmax(-1)


torch.manual_seed(0)
model = Masked().eval()
x = torch.randn(16, SIZE, SIZE)
with torch.inference_mode():
    for _ in steps():
        model(x)
