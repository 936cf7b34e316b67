"""Q-learning on a prioritised replay buffer."""

import argparse
import time

import numpy
import torch
from torch import nn


class PrioritisedReplay:
    def __init__(self, capacity, features, alpha=0.6, seed=0):
        generator = numpy.random.default_rng(seed)
        self.states = generator.standard_normal((capacity, features), dtype=numpy.float32)
        self.rewards = generator.standard_normal(capacity, dtype=numpy.float32)
        self.priorities = generator.random(capacity) + 0.01
        self.alpha, self.generator = alpha, generator
        self.scaled = self.priorities**alpha

    def sample(self, count):
        scaled = self.scaled
        bounds = scaled.cumsum()
        picked = bounds.searchsorted(self.generator.random(count) * bounds[-1], side="right")
        return picked, torch.from_numpy(self.states[picked]), torch.from_numpy(self.rewards[picked])

    def update(self, picked, errors):
        self.priorities[picked] = numpy.abs(errors) + 0.01
        self.scaled[picked] = self.priorities[picked] ** self.alpha


class ValueNetwork(nn.Sequential):
    def __init__(self, features, width=128):
        super().__init__(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 1))


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
    replay, network = PrioritisedReplay(300_000, 16), ValueNetwork(16)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3, fused=True)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        picked, states, rewards = replay.sample(64)
        errors = network(states).squeeze(-1) - rewards
        loss = errors.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        replay.update(picked, errors.detach().numpy())
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
