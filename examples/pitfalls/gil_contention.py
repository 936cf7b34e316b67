"""A busy Python thread beside the training loop. rule: gil_contention"""

import threading

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(8)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 64)
done = threading.Event()


def watch() -> None:
    """Polls without rest; the fixed variant sleeps between looks."""
    while not done.is_set():
        if FIXED:
            done.wait(0.1)
        sum(range(1000))


watcher = threading.Thread(target=watch, name="watcher")
watcher.start()
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
done.set()
watcher.join()
