"""Millions of live Python objects, walked again and again by the garbage collector. rule: gc_pauses"""

import gc

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
vocabulary = [{"word": str(i), "next": [i + 1]} for i in range(300_000)]  # what a dataset keeps in memory
if FIXED:
    gc.collect()
    gc.freeze()
    gc.disable()
model = nn.Linear(256, 256)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 256)
for step in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    batch = [{"step": step, "row": [row]} for row in range(500)]  # objects that live for one step
    if not FIXED:
        gc.collect()  # "to save memory"
