"""bfloat16 on a processor that has no instructions for it. rule: bf16_without_hardware"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(128, 512)
for _ in steps():
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=not FIXED):
        loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
