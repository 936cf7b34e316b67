"""A log line, forced to disk, in every step. rule: io_in_step"""

import os
import tempfile

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(256, 128), torch.randint(0, 10, (256,))
with tempfile.NamedTemporaryFile("w", dir=".", suffix=".log") as log:
    for step in steps():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if not FIXED or step % 200 == 0:
            print(f"step {step} loss {loss.item():.4f}", file=log, flush=True)
            os.fsync(log.fileno())
