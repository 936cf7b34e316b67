"""float64 that came in with a NumPy array. rule: fp64_by_accident"""

import numpy as np
import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
x = torch.from_numpy(np.random.default_rng(0).standard_normal((256, 512)))
if FIXED:
    x = x.float()
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(x.dtype)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
