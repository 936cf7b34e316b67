"""Regularise codes towards a fixed mixture of correlated Gaussians."""

import argparse
import time

import torch
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal


class MixturePrior(nn.Module):
    def __init__(self, components=24, size=32):
        super().__init__()
        factor = torch.randn(components, size, size) / size**0.5
        self.register_buffer("centres", torch.randn(components, size))
        self.register_buffer("covariances", factor @ factor.mT + 0.5 * torch.eye(size))
        self.register_buffer("weights", torch.ones(components) / components)

    def distribution(self):
        parts = MultivariateNormal(self.centres, covariance_matrix=self.covariances)
        return MixtureSameFamily(Categorical(self.weights), parts)

    def forward(self, codes):
        return self.distribution().log_prob(codes)


class Encoder(nn.Module):
    def __init__(self, features=64, size=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, size))

    def forward(self, x):
        return self.net(x)


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
    encoder, prior = Encoder(), MixturePrior()
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3, fused=True)
    data = torch.randn(16, 16, 64)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = -prior(encoder(data[step % 16])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
