"""Eight processes that train a small model each, for SECONDS of CPU time in all. Usage: eight_processes.py SECONDS"""

from __future__ import annotations

import multiprocessing
import sys
import time

PROCESSES = 8


def train(seconds: float) -> None:
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(8, 64)
    end = time.process_time() + seconds
    while time.process_time() < end:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=train, args=(float(sys.argv[1]) / PROCESSES,)) for _ in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
