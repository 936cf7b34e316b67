"""A training loop that measures accuracy on the whole validation set after every step."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(64, 128), torch.randint(0, 10, (64,))
held_out, truth = torch.randn(2000, 128), torch.randint(0, 10, (2000,))


@torch.no_grad()
def accuracy():
    return (model(held_out).argmax(1) == truth).float().mean().item()  # !


steps, best, start = 300, 0.0, time.perf_counter()
for step in range(steps):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not FIXED or step % 100 == 99:
        best = max(best, accuracy())
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
