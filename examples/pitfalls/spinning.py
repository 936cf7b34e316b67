"""A thread pool that spins between tiny parallel regions while another thread needs the processor. rule: spin_share"""

import os
import threading

if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "ACTIVE")

import numpy as np
import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1 if FIXED else len(os.sched_getaffinity(0)))
model = nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 64)
wide = torch.randn(70_000)
line = torch.randn(8_192)
done = threading.Event()


def prepare() -> None:
    """Sorts the next epoch's samples by length, outside the interpreter's lock."""
    lengths = np.random.default_rng(0).standard_normal(1 << 20)
    while not done.is_set():
        np.sort(lengths)


other = threading.Thread(target=prepare, name="prepare")
other.start()
for _ in steps():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    wide.add_(0.001)  # just wide enough to be split among threads
    line.sort()  # one thread's work: the pool spins
done.set()
other.join()
