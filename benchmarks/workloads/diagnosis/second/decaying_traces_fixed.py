"""Temporal-difference learning with eligibility traces that fade after rare events."""

import argparse
import time

import torch


class TraceLearner:
    def __init__(self, features, decay=0.8):
        self.weights = torch.zeros(features)
        self.traces = torch.zeros(features)
        self.decay = decay

    def advance(self, active, reward):
        """One time step: fade, mark the active features, learn from the reward."""
        self.traces.mul_(self.decay)
        self.traces[active] += 1.0
        self.weights.add_(self.traces, alpha=0.01 * reward)


class World:
    """Features are active in bursts and then silent for long."""

    def __init__(self, features, seed=5):
        self.generator = torch.Generator().manual_seed(seed)
        self.features, self.time = features, 0

    def observe(self):
        self.time += 1
        active = torch.randint(0, self.features, (64,), generator=self.generator)
        return active, 1.0 if self.time % 7 == 0 else 0.1


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
    torch.set_flush_denormal(True)
    features = 300_000
    learner, world = TraceLearner(features), World(features)
    learner.traces.uniform_()
    policy = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.Tanh(), torch.nn.Linear(512, 1)).requires_grad_(False)
    observations = torch.randn(256, 128)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        active, reward = world.observe()
        learner.advance(active, reward - policy(observations).mean().item())
        step += 1
    report(step, start, learner.weights.sum().item())


if __name__ == "__main__":
    main()
