"""A vision transformer block with attention written out."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


class Attention(nn.Module):
    def __init__(self, width=96, heads=6):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if FIXED:
            y = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # !
            y = scores.softmax(-1) @ v  # !
        return self.out(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
model = nn.Sequential(Attention(), Attention())
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x = torch.randn(2, 400, 96)

steps, start = 50, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
