"""An optimizer that visits hundreds of small parameters one by one. rule: per_tensor_optimizer"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(60)])
optimizer = torch.optim.Adam(model.parameters(), foreach=False, fused=FIXED)
x = torch.randn(32, 32)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
