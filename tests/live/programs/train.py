"""Trains with two OpenMP threads until the file named first is there, or so many steps; prints steps and checksum."""

import hashlib
import os
import sys

import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.Flatten(), nn.Linear(2048, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
stop, most = sys.argv[1], int(sys.argv[2])
digest, steps = hashlib.sha256(), 0
print("ready", flush=True)
while steps < most and not os.path.exists(stop):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    digest.update(loss.detach().numpy().tobytes())
    steps += 1
print(steps, digest.hexdigest()[:16], flush=True)
