"""What `sonde demo` profiles where torch is installed: a small classifier with one mistake.

The mistake: numpy makes float64 by default, and the model was made to fit (`.double()`). Every multiplication
then takes twice the time. `sonde insights` names it.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CPU_SECONDS = 3.0  # of the main thread: some hundred samples, also on a busy machine
BATCH = 256


def main() -> None:
    torch.manual_seed(0)
    made = np.random.default_rng(0)
    points = torch.from_numpy(made.standard_normal((8192, 256)))
    labels = (points @ torch.from_numpy(made.standard_normal((256, 10)))).argmax(1)
    model = nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    ).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loss = torch.zeros(())
    end = time.thread_time() + CPU_SECONDS
    done = 0
    while time.thread_time() < end:
        start = done * BATCH % len(points)
        loss = F.cross_entropy(model(points[start : start + BATCH]), labels[start : start + BATCH])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done += 1
    print(f"sonde demo: {done} training steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
