"""Losses kept with their graphs. rule: memory_growth"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
x, y = torch.randn(128, 256), torch.randint(0, 10, (128,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history = []
for _ in steps():
    optimizer.zero_grad()
    scores = model(x)
    loss = nn.functional.cross_entropy(scores, y)
    loss.backward()
    optimizer.step()
    history.append(loss.item() if FIXED else scores)
