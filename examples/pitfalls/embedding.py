"""A gradient for every row of a large table, though a few rows were used. rule: dense_embedding_gradient"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
table = nn.Embedding(100_000, 64, sparse=FIXED)
head = nn.Linear(64, 10)
optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.01)
words = torch.randint(0, 100_000, (64, 16))
for _ in steps():
    optimizer.zero_grad()
    head(table(words).mean(1)).square().mean().backward()
    optimizer.step()
