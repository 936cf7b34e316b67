"""A transformer step beside another program on the same cores."""

import subprocess
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

burn = "while True: sum(range(10000))"
neighbours = [] if FIXED else [subprocess.Popen([sys.executable, "-c", burn]) for _ in range(3)]  # !
torch.manual_seed(0)
model = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 64, 128)
try:
    steps, start = 150, time.perf_counter()
    for _ in range(steps):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - start
finally:
    for neighbour in neighbours:
        neighbour.kill()
        neighbour.wait()
print(f"{steps} steps {elapsed:.3f} s")
