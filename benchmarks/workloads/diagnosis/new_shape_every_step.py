"""A fully convolutional net whose inputs have another size in each step."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 24, 3), nn.ReLU(), nn.Conv2d(24, 24, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
steps, start = 150, time.perf_counter()
for step in range(steps):
    side = 40 if FIXED else 24 + step * 7 % 33
    image = torch.randn(2, 3, side, side + (0 if FIXED else step % 13))
    loss = model(image).square().mean()  # !
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
