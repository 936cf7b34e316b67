"""Evaluation that builds a graph for a backward pass that never comes. rule: missing_inference_mode"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(16) for layer in (nn.Linear(32, 32), nn.ReLU())]).eval()
x = torch.randn(8, 32)
with torch.inference_mode(FIXED):
    for _ in steps():
        model(x)
