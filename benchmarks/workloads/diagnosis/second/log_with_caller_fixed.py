"""Train a small network and keep metrics under the name of the function that logs them."""

import argparse
import collections
import inspect
import sys
import time

import torch
from torch import nn


class MetricStore:
    def __init__(self, window=200):
        self.values = collections.defaultdict(lambda: collections.deque(maxlen=window))

    def log_metrics(self, **metrics):
        caller = sys._getframe(1).f_code.co_name
        for name, value in metrics.items():
            self.values[f"{caller}/{name}"].append(value)

    def mean(self, name):
        values = self.values[name]
        return sum(values) / len(values)


class Trainer:
    def __init__(self, store):
        self.store = store
        self.model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, fused=True)

    def train_step(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.store.log_metrics(loss=loss.item())
        return loss


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
    store = MetricStore()
    trainer = Trainer(store)
    x, y = torch.randn(512, 64), torch.randint(0, 10, (512,))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        rows = slice(step % 4 * 128, step % 4 * 128 + 128)
        trainer.train_step(x[rows], y[rows])
        step += 1
    report(step, start, store.mean("train_step/loss"))


if __name__ == "__main__":
    main()
