"""A deep narrow network that logs the gradient norm of every parameter."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
layers = [m for _ in range(60) for m in (nn.Linear(64, 64), nn.Tanh())]
model = nn.Sequential(*layers, nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 64), torch.randn(32, 1)
history = []
steps, start = 250, time.perf_counter()
for step in range(steps):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    if FIXED:
        if step % 50 == 0:
            history.append(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
    else:
        for name, p in model.named_parameters():
            history.append((name, p.grad.norm().item(), p.grad.mean().item(), p.grad.std().item()))  # !
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
