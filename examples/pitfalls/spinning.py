"""A thread pool that spins between tiny parallel regions while another thread needs the processor. rule: spin_share"""

import os

if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "ACTIVE")

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1 if FIXED else 2)
model = nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 64)
wide = torch.randn(70_000)
line = torch.randn(8_192)
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    wide.add_(0.001)  # just wide enough to be split among threads
    line.sort()  # one thread's work: the pool spins
