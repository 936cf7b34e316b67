"""A recommender with a large table, of which each step uses a few rows."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
table = nn.Embedding(150_000, 32, sparse=FIXED)
tower = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD([*table.parameters(), *tower.parameters()], lr=0.01)
users, items = torch.randint(0, 150_000, (256,)), torch.randint(0, 150_000, (256,))
label = torch.rand(256)
steps, start = 100, time.perf_counter()
for _ in range(steps):
    pair = torch.cat([table(users), table(items)], dim=1)
    loss = nn.functional.binary_cross_entropy_with_logits(tower(pair)[:, 0], label)
    optimizer.zero_grad()
    loss.backward()  # !
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
