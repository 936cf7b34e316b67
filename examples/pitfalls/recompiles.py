"""A compiled model that is compiled again for every length. rule: recompiles"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = torch.compile(nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64)).eval(), dynamic=FIXED)
with torch.inference_mode():
    for step in steps():
        model(torch.randn(8 + step % 20, 64))
