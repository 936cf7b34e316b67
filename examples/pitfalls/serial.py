"""One long sort, which one thread does, where a sort of each row is wanted. rule: serial_regions"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, scores = torch.randn(64, 64), torch.randn(64, 16384)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    if FIXED:
        scores.sort(1)  # rows are sorted side by side
    else:
        scores.flatten().sort()
