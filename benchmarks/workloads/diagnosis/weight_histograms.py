"""A trainer that makes a histogram of each layer's weights in every step."""

import sys
import time

import numpy
import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(256, 256), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 256)
histograms, steps, start = [], 150, time.perf_counter()
for step in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not FIXED or step % 50 == 0:
        for p in model.parameters():
            histograms.append(numpy.histogram(p.detach().numpy(), bins=64))  # !
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
