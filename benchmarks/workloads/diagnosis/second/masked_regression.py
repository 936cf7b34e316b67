"""Train an inpainting network on images with missing pixels."""

import argparse
import time

import torch
from torch import nn


class Inpainter(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x):
        return self.net(x)


def masked_error(prediction, target, known):
    difference = prediction[known] - target[known]
    return difference.square().mean()


class HolesDataset:
    def __init__(self, count, side=192, batch=8):
        self.images = torch.rand(count, batch, 1, side, side)
        self.known = torch.rand(count, batch, 1, side, side) > 0.2

    def __getitem__(self, index):
        index %= len(self.images)
        return self.images[index], self.known[index]


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
    model, data = Inpainter(), HolesDataset(6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        images, known = data[step]
        loss = masked_error(model(images * known), images, known)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
