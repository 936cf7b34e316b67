"""Train a line reader with a per-character classifier and watch its error rate."""

import argparse
import time

import torch
from torch import nn


class LineReader(nn.Module):
    def __init__(self, features=32, width=256, symbols=40):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(features, width, 5, padding=2), nn.ReLU(), nn.Conv1d(width, symbols, 1))

    def forward(self, x):
        return self.net(x)


def edit_distance(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (x != y)))
        previous = row
    return previous[-1]


def error_rate(logits, targets):
    guesses = logits.argmax(1).tolist()
    truths = targets.tolist()
    wrong = sum(edit_distance(guess, truth) for guess, truth in zip(guesses, truths))
    return wrong / targets.numel()


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
    model = LineReader()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, fused=True)
    x, y = torch.randn(8, 16, 32, 64), torch.randint(0, 40, (8, 16, 64))
    rate, step, start = 1.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        logits = model(x[step % 8])
        loss = nn.functional.cross_entropy(logits, y[step % 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate = error_rate(logits, y[step % 8])
        step += 1
    print(f"error rate {rate:.3f}")
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
