"""A mixture-of-experts language model block with top-1 routing."""

import argparse
import time

import torch
from torch import nn


class Expert(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class MixtureLayer(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))

    def forward(self, x):
        weight, chosen = self.router(x).softmax(-1).max(-1)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            selected = (chosen == number).unsqueeze(-1)
            result = result + expert(x) * selected
        return x + result * weight.unsqueeze(-1)


class Model(nn.Module):
    def __init__(self, vocabulary=500, width=128, experts=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.mixture = MixtureLayer(width, experts)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.mixture(self.embed(ids)))


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
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    corpus = torch.randint(0, 500, (20, 513))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        line = corpus[step % 20]
        loss = nn.functional.cross_entropy(model(line[:-1]), line[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
