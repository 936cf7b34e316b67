"""A training loop beside a Python thread that never rests."""

import sys
import threading
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

done = threading.Event()


def monitor():
    counts = {}
    while not done.is_set():
        for i in range(20_000):
            counts[i % 97] = counts.get(i % 97, 0) + 1  # !
        if FIXED:
            time.sleep(0.5)


torch.manual_seed(0)
model = nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(64, 64), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(16, 64)
threading.Thread(target=monitor, daemon=True).start()
steps, start = 40, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
elapsed = time.perf_counter() - start
done.set()
print(f"{steps} steps {elapsed:.3f} s")
