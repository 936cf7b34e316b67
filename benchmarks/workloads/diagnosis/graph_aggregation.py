"""A graph network that sums the messages of each node in a Python loop."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
nodes, edges = 120, 1500
source, target = torch.randint(0, nodes, (edges,)), torch.randint(0, nodes, (edges,))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, h):
        messages = self.linear(h)[source]
        if FIXED:
            return torch.zeros_like(h).index_add(0, target, messages).relu()
        return torch.stack([messages[target == n].sum(0) for n in range(nodes)]).relu()  # !


model = nn.Sequential(Layer(), Layer())
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
h = torch.randn(nodes, 32)
steps, start = 60, time.perf_counter()
for _ in range(steps):
    loss = model(h).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
