"""A Q-learner that draws its batches from a long deque of tuples."""

import collections
import random
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

random.seed(0)
torch.manual_seed(0)
memory = collections.deque(maxlen=100_000)
for _ in range(100_000):
    memory.append((random.random(), random.random(), random.randrange(4), random.random()))
table = torch.tensor(list(memory))
q = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 4))
optimizer = torch.optim.Adam(q.parameters())
steps, start = 200, time.perf_counter()
for _ in range(steps):
    if FIXED:
        rows = table[torch.randint(0, len(table), (128,))]
    else:
        rows = torch.tensor(random.sample(list(memory), 128))  # !
    value = q(rows[:, :2]).gather(1, rows[:, 2:3].long())
    loss = nn.functional.mse_loss(value, rows[:, 3:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
