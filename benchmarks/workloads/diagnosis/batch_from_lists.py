"""A forecaster whose windows are Python lists of floats, turned into tensors in each step."""

import random
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

random.seed(0)
torch.manual_seed(0)
series = [random.gauss(0, 1) for _ in range(20000)]
values = torch.tensor(series)
model = nn.Sequential(nn.Linear(168, 128), nn.ReLU(), nn.Linear(128, 24))
optimizer = torch.optim.Adam(model.parameters())
steps, start = 200, time.perf_counter()
for _ in range(steps):
    begins = [random.randrange(19000) for _ in range(64)]
    if FIXED:
        windows = values[torch.tensor(begins)[:, None] + torch.arange(192)]
    else:
        windows = torch.tensor([series[b : b + 192] for b in begins])  # !
    loss = nn.functional.mse_loss(model(windows[:, :168]), windows[:, 168:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
