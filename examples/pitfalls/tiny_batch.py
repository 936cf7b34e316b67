"""One row at a time through a network that would take many. rule: overhead_bound"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(32, 32), nn.ReLU())]).eval()
rows = torch.randn(256, 32)
with torch.inference_mode():
    for _ in steps():
        if FIXED:
            model(rows)
        else:
            for row in rows.split(1):
                model(row)
