"""Training a ResNet-18-like network on random pictures.

What it shows: convolutions that run in oneDNN's JIT kernels on every OpenMP
worker, batch normalisation, residual additions, and modules nested four deep.
`--channels-last` changes the memory layout: fewer reorders, other kernels.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two 3 x 3 convolutions with a shortcut around them."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            conv = nn.Conv2d(channels_in, channels, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(h)) + self.shortcut(x))


class ResNet(nn.Module):
    """Stem, four stages of two blocks each, classifier."""

    def __init__(self, width: int, classes: int = 10) -> None:
        super().__init__()
        stem = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        stages = []
        channels = width
        for number in range(4):
            wider = width << number
            stages.append(nn.Sequential(Block(channels, wider, 1 + (number > 0)), Block(wider, wider, 1)))
            channels = wider
        self.stages = nn.Sequential(*stages)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.stages(self.stem(x)).mean((2, 3)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20, help="training steps")
    parser.add_argument("--batch", type=int, default=16, help="pictures per step")
    parser.add_argument("--width", type=int, default=32, help="channels of the first stage (ResNet-18: 64)")
    parser.add_argument("--size", type=int, default=64, help="height and width of a picture")
    parser.add_argument("--channels-last", action="store_true", help="use the NHWC memory layout")
    options = parser.parse_args()

    torch.manual_seed(0)
    model = ResNet(options.width)
    x = torch.randn(options.batch, 3, options.size, options.size)
    y = torch.arange(options.batch) % 10
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = torch.zeros(())
    for _ in range(options.steps):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"convnet: {options.steps} steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
