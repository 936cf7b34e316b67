"""Numbers too small for the fast path of the processor. rule: denormals"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
torch.set_flush_denormal(FIXED)
model = nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 64)
state = torch.full((1 << 20,), 1e-39)  # a filter that has decayed
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    state = state * 0.999 + 1e-41
