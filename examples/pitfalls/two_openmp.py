"""A second OpenMP runtime in the process. rule: several_openmp"""

import ctypes
import shutil
import tempfile
from pathlib import Path

import torch
from pace import FIXED, steps
from torch import nn

if not FIXED:
    # As a package does that brings its own copy of the runtime.
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "gomp" in line}
    folder = tempfile.mkdtemp()
    ctypes.CDLL(shutil.copy(loaded.pop(), Path(folder) / "libgomp-0123.so.1"))
    shutil.rmtree(folder)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(512, 512)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
