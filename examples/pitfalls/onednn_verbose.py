"""oneDNN's log left on. rule: debug_left_on"""

import os

from pace import FIXED, steps

if not FIXED:
    os.environ["ONEDNN_VERBOSE"] = "all"

import torch
from torch import nn

torch.manual_seed(0)
model = (
    nn.Sequential(*[nn.Conv2d(8, 8, 3, padding=1) for _ in range(6)])
    .eval()
    .to(memory_format=torch.channels_last)
)
x = torch.randn(2, 8, 16, 16).to(memory_format=torch.channels_last)
with torch.inference_mode():
    for _ in steps():
        model(x)
