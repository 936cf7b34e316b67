"""A small model with sixteen threads on whatever there is."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.set_num_threads(2 if FIXED else 16)  # !
torch.manual_seed(0)
model = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 64, 128)

steps, start = 100, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
