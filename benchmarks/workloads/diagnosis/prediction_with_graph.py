"""Prediction that records a graph which nobody uses."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(30) for m in (nn.Linear(32, 32), nn.ReLU())]).eval()
x = torch.randn(4, 32)
steps, total, start = 1500, 0.0, time.perf_counter()
with torch.inference_mode(FIXED):
    for _ in range(steps):
        total += float(model(x).detach().sum())  # !
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
