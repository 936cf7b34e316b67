"""Word vectors by skip-gram with negative sampling."""

import argparse
import time

import torch
from torch import nn


class NegativeSampler:
    """Draws words by their frequency to the power 3/4."""

    def __init__(self, counts, number=5):
        self.weights = counts**0.75
        self.number = number
        self.bounds = self.weights.double().cumsum(0)

    def negatives(self, count):
        points = torch.rand(count * self.number, dtype=torch.float64) * self.bounds[-1]
        drawn = torch.searchsorted(self.bounds, points)
        return drawn.view(count, self.number)


class SkipGram(nn.Module):
    def __init__(self, vocabulary, width=32):
        super().__init__()
        self.centre = nn.Embedding(vocabulary, width, sparse=True)
        self.context = nn.Embedding(vocabulary, width, sparse=True)
        nn.init.zeros_(self.context.weight)

    def forward(self, words, others, negatives):
        centre = self.centre(words)
        good = (centre * self.context(others)).sum(-1)
        bad = (self.context(negatives) @ centre[:, :, None]).squeeze(-1)
        return nn.functional.softplus(-good).mean() + nn.functional.softplus(bad).sum(1).mean()


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
    vocabulary = 200_000
    counts = 1e6 / torch.arange(1, vocabulary + 1)
    model, sampler = SkipGram(vocabulary), NegativeSampler(counts)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    corpus = (torch.rand(100_000) ** 6 * vocabulary).long()
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        place = step * 512 % 99_000
        words, others = corpus[place : place + 512], corpus[place + 1 : place + 513]
        loss = model(words, others, sampler.negatives(512))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
