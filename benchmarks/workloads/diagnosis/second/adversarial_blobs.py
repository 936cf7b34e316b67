"""A generative adversarial network for points in many dimensions."""

import argparse
import time

import torch
from torch import nn


def network(inputs, width, outputs):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs))


class Adversaries:
    def __init__(self, noise=64, size=128):
        self.noise = noise
        self.generator = network(noise, 512, size)
        self.discriminator = network(size, 64, 1)
        self.optimizer_g = torch.optim.Adam(self.generator.parameters(), lr=1e-4, fused=True)
        self.optimizer_d = torch.optim.Adam(self.discriminator.parameters(), lr=1e-4, fused=True)
        self.criterion = nn.BCEWithLogitsLoss()

    def discriminator_step(self, real):
        fake = self.generator(torch.randn(len(real), self.noise))
        loss = self.criterion(self.discriminator(real), torch.ones(len(real), 1))
        loss = loss + self.criterion(self.discriminator(fake), torch.zeros(len(real), 1))
        self.optimizer_d.zero_grad()
        loss.backward()
        self.optimizer_d.step()
        return loss

    def generator_step(self, count):
        fake = self.generator(torch.randn(count, self.noise))
        self.discriminator.requires_grad_(False)
        loss = self.criterion(self.discriminator(fake), torch.ones(count, 1))
        self.optimizer_g.zero_grad()
        loss.backward()
        self.optimizer_g.step()
        self.discriminator.requires_grad_(True)


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
    adversaries = Adversaries()
    real = torch.randn(8, 256, 128) * 0.5 + 1
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = adversaries.discriminator_step(real[step % 8])
        if step % 4 == 3:
            adversaries.generator_step(256)
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
