"""A trainer that sleeps a little in each step so that the machine stays usable."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.LSTM(32, 64, batch_first=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 40, 32)
steps, start = 120, time.perf_counter()
for _ in range(steps):
    loss = model(x)[0].square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not FIXED:
        time.sleep(0.02)  # !
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
