"""A training loop that shares a lock with a thread which aggregates statistics."""

import sys
import threading
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
lock, done, values = threading.Lock(), threading.Event(), []


def aggregate():
    while not done.is_set():
        if FIXED:
            snapshot = list(values[-1000:])
            sorted(snapshot)
            time.sleep(0.05)
        else:
            with lock:
                sorted(values[-1000:])
                time.sleep(0.03)
            time.sleep(0.002)


model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(128, 128), torch.randn(128, 1)
worker = threading.Thread(target=aggregate)
worker.start()
steps, start = 150, time.perf_counter()
for _ in range(steps):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with lock:  # !
        values.append(loss.item())
elapsed = time.perf_counter() - start
done.set()
worker.join()
print(f"{steps} steps {elapsed:.3f} s")
