"""Training that waits for its data: a DataLoader with slow Python transforms.

What it shows: time in worker processes (pure Python loops over pixels), and
the main process waiting in `DataLoader.__next__`. With `--workers 0` the same
work moves into the main process; with more workers the wait shrinks until the
processors are full.
"""

from __future__ import annotations

import argparse
import random

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIDE = 24


class Pictures(Dataset[tuple[Tensor, int]]):
    """Pictures made and augmented one pixel at a time, as a naive transform does."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        source = random.Random(index)  # the item alone decides, not the worker that makes it
        pixels = draw(source)
        if source.random() < 0.5:
            pixels = flip(pixels)
        return torch.tensor(jitter(pixels, source)).view(1, SIDE, SIDE), index % 10


def draw(source: random.Random) -> list[list[float]]:
    return [[source.random() for _ in range(SIDE)] for _ in range(SIDE)]


def flip(pixels: list[list[float]]) -> list[list[float]]:
    return [row[::-1] for row in pixels]


def jitter(pixels: list[list[float]], source: random.Random) -> list[list[float]]:
    gain = source.uniform(0.8, 1.2)
    return [[min(1.0, max(0.0, value * gain)) for value in row] for row in pixels]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=100, help="training steps")
    parser.add_argument("--batch", type=int, default=32, help="pictures per step")
    parser.add_argument("--workers", type=int, default=2, help="worker processes, 0 for none")
    options = parser.parse_args()

    torch.manual_seed(0)
    data = DataLoader(
        Pictures(options.steps * options.batch), batch_size=options.batch, num_workers=options.workers
    )
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 11 * 11, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss = torch.zeros(())
    for pictures, labels in data:
        loss = F.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loader: {options.steps} steps, {options.workers} workers, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
