"""Features kept with their graphs, for a plot that nobody makes. rule: memory_growth"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
head = nn.Linear(256, 10)
x, y = torch.randn(128, 256), torch.randint(0, 10, (128,))
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
history = []
for _ in steps():
    optimizer.zero_grad()
    features = body(x)
    loss = nn.functional.cross_entropy(head(features), y)
    loss.backward()
    optimizer.step()
    history.append(features.mean().item() if FIXED else features)
