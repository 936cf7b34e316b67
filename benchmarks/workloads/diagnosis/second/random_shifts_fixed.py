"""Contrast agent observations under small random shifts."""

import argparse
import time

import torch
from torch import nn


class RandomShift(nn.Module):
    def __init__(self, padding=4):
        super().__init__()
        self.padding = padding

    def forward(self, x):
        count, _, side, _ = x.shape
        padded = nn.functional.pad(x, (self.padding,) * 4, mode="replicate")
        shift = torch.randint(0, 2 * self.padding + 1, (count, 2))
        parts = [image[:, y : y + side, x : x + side] for image, (x, y) in zip(padded, shift.tolist())]
        return torch.stack(parts)


class Encoder(nn.Module):
    def __init__(self, channels=9, size=32):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(channels, 8, 8, stride=8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 100, size))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


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
    encoder, augment = Encoder(), RandomShift()
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01, fused=True)
    frames = torch.rand(4, 64, 9, 84, 84)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        images = frames[step % 4]
        logits = encoder(augment(images)) @ encoder(augment(images)).T / 0.1
        loss = nn.functional.cross_entropy(logits, torch.arange(len(images)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
