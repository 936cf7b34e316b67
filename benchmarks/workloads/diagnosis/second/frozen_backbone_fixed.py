"""Linear probing: train a new head on a given convolutional backbone."""

import argparse
import time

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1), nn.ReLU(),
        )

    def forward(self, x):
        return self.layers(x).mean((2, 3))


class Probe(nn.Module):
    def __init__(self, backbone, features=64, classes=10):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(features, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def augmented(images, step):
    """Shift the batch a little and add noise, so features cannot be kept."""
    generator = torch.Generator().manual_seed(step)
    shift = step % 5 - 2
    return images.roll(shift, -1) + 0.02 * torch.randn(images.shape, generator=generator)


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
    model = Probe(Backbone())
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1, fused=True)
    images, labels = torch.rand(4, 16, 3, 40, 40), torch.randint(0, 10, (4, 16))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = nn.functional.cross_entropy(model(augmented(images[step % 4], step)), labels[step % 4])
        model.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
