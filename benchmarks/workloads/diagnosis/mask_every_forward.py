"""A small decoder that builds its causal mask in every forward pass."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


class Decoder(nn.Module):
    def __init__(self, length=768, width=64):
        super().__init__()
        self.length = length
        self.query, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", self.causal(length))

    @staticmethod
    def causal(length):
        mask = torch.full((length, length), float("-inf"), dtype=torch.float64)
        return torch.triu(mask, diagonal=1).to(torch.float32) + torch.zeros(4, 1, length, length)  # !

    def forward(self, x):
        mask = self.mask if FIXED else self.causal(self.length)
        q, k, v = self.query(x).chunk(3, -1)
        return self.out(
            nn.functional.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], mask)[:, 0]
        )


torch.manual_seed(0)
model = Decoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 768, 64)
steps, start = 60, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
