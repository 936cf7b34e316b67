"""A reproducibility check that hashes all weights after each step."""

import hashlib
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(32, 512)
digests, steps, start = [], 150, time.perf_counter()
for step in range(steps):
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not FIXED or step == steps - 1:
        digest = hashlib.sha256()
        for p in model.parameters():
            digest.update(p.detach().numpy().tobytes())  # !
        digests.append(digest.hexdigest())
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
