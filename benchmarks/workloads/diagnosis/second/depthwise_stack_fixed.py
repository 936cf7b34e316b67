"""Classify multichannel recordings with depthwise separable convolutions."""

import argparse
import time

import torch
from torch import nn


class DepthwiseSeparable(nn.Module):
    def __init__(self, channels, out, width=9):
        super().__init__()
        self.depthwise = nn.ModuleList(nn.Conv1d(1, 1, width, padding=width // 2) for _ in range(channels))
        self.pointwise = nn.Conv1d(channels, out, 1)

    def forward(self, x):
        weight = torch.cat([conv.weight for conv in self.depthwise])
        bias = torch.cat([conv.bias for conv in self.depthwise])
        x = nn.functional.conv1d(x, weight, bias, padding=weight.shape[-1] // 2, groups=len(weight))
        return torch.relu(self.pointwise(x))


class Network(nn.Module):
    def __init__(self, channels=32, classes=6):
        super().__init__()
        self.layers = nn.Sequential(DepthwiseSeparable(channels, 48), DepthwiseSeparable(48, 48))
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        return self.head(self.layers(x).mean(-1))


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
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    x, y = torch.randn(4, 16, 32, 128), torch.randint(0, 6, (4, 16))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = nn.functional.cross_entropy(model(x[step % 4]), y[step % 4])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
