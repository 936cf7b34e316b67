"""An activation function written as a chain of small operators."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


def activation(x):
    if FIXED:
        return nn.functional.gelu(x, approximate="tanh")
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))  # !


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 512), nn.Linear(512, 32)

    def forward(self, x):
        return x + self.down(activation(self.up(x)))


torch.manual_seed(0)
model = nn.Sequential(Block(), Block())
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
x = torch.randn(2048, 32)

steps, start = 50, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
