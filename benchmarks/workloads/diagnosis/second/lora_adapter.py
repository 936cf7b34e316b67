"""Fine-tune low-rank adapters on top of a frozen two-layer network."""

import argparse
import time

import torch
from torch import nn


class AdaptedLinear(nn.Module):
    """A frozen linear layer with a trainable low-rank update."""

    def __init__(self, features_in, features_out, rank=64, alpha=16.0):
        super().__init__()
        self.base = nn.Linear(features_in, features_out)
        self.base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(features_in, rank) * 0.02)
        self.up = nn.Parameter(torch.zeros(rank, features_out))
        self.scale = alpha / rank

    def forward(self, x):
        update = (self.down @ self.up) * self.scale
        return self.base(x) + x @ update


class Regressor(nn.Module):
    def __init__(self, width=1536):
        super().__init__()
        self.first = AdaptedLinear(width, width)
        self.second = AdaptedLinear(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.head(x).squeeze(-1)


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
    model = Regressor()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=0.01, fused=True)
    inputs, targets = torch.randn(32, 64, 1536), torch.randn(32, 64)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        x, y = inputs[step % 32], targets[step % 32]
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
