"""Channels last pictures for a model that keeps its weights channels first. rule: reorders"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[nn.Conv2d(64, 64, 1) for _ in range(4)]).eval()
x = torch.randn(1, 64, 20, 20)
if FIXED:
    model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
with torch.inference_mode():
    for _ in steps():
        model(x)
