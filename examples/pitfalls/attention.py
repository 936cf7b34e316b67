"""Attention written out as matrix products and a softmax. rule: unfused_attention"""

import math

import torch
from pace import FIXED, steps
from torch import nn


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 4, 32).permute(2, 0, 3, 1, 4)
        if FIXED:
            y = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            y = (q @ k.transpose(-2, -1) / math.sqrt(32)).softmax(-1) @ v
        out: torch.Tensor = self.out(y.transpose(1, 2).reshape(batch, length, width))
        return out


torch.manual_seed(0)
model = Attention().eval()
x = torch.randn(2, 768, 128)
with torch.inference_mode():
    for _ in steps():
        model(x)
