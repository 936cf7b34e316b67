"""Forecast demand from a table of columns."""

import argparse
import time

import numpy
import torch
from torch import nn


class Table:
    """A minimal data frame: named columns of equal length."""

    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def row(self, index):
        return {name: values[index].item() for name, values in self.columns.items()}


FEATURES = [f"lag{n}" for n in range(12)] + ["price", "weekday", "holiday"]


def make_table(rows, seed=0):
    generator = numpy.random.default_rng(seed)
    columns = {name: generator.standard_normal(rows).astype(numpy.float32) for name in FEATURES}
    columns["demand"] = columns["lag0"] * 0.7 - columns["price"] * 0.2
    return Table(**columns)


def make_batch(table, indices):
    x = numpy.stack([table.columns[name][indices] for name in FEATURES], 1)
    return torch.from_numpy(x), torch.from_numpy(table.columns["demand"][indices])


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="run for this long")
    parser.add_argument("--steps", type=int, default=0, help="or for this many steps")
    return parser.parse_args()


def unfinished(args, step, start):
    if args.steps:
        return step < args.steps
    return time.perf_counter() - start < args.seconds


def report(step, start, value):
    seconds = time.perf_counter() - start
    print(f"steps {step} seconds {seconds:.3f} checksum {value:.6g}")

def main():
    args = parse_args()
    torch.manual_seed(0)
    generator = numpy.random.default_rng(1)
    table = make_table(20000)
    model = nn.Sequential(nn.Linear(len(FEATURES), 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        x, y = make_batch(table, generator.integers(0, len(table), 512))
        loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
