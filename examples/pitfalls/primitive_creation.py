"""A new picture size in every step: oneDNN makes new kernels each time. rule: primitive_creation"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3)).eval()
with torch.inference_mode():
    for step in steps():
        side = 32 if FIXED else 24 + step % 4001
        model(torch.randn(1, 3, 16, side))
