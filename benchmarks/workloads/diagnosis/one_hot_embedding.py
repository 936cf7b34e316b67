"""A tagger that looks words up by multiplying one-hot vectors with the table."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
table = nn.Parameter(torch.randn(8000, 64) * 0.1)
head = nn.Linear(64, 16)
optimizer = torch.optim.SGD([table, *head.parameters()], lr=0.1)
ids, tags = torch.randint(0, 8000, (256,)), torch.randint(0, 16, (256,))
steps, start = 100, time.perf_counter()
for _ in range(steps):
    if FIXED:
        vectors = nn.functional.embedding(ids, table)
    else:
        vectors = nn.functional.one_hot(ids, 8000).float() @ table  # !
    loss = nn.functional.cross_entropy(head(vectors), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
