"""Train a tabular network with gradient accumulation."""

import argparse
import time

import torch
from torch import nn


class TabularNet(nn.Module):
    def __init__(self, features=48, width=96):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, width), nn.LayerNorm(width), nn.GELU(),
            nn.Linear(width, width), nn.LayerNorm(width), nn.GELU(),
        )
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


class Trainer:
    micro_batch = 2

    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        parts = list(zip(x.split(self.micro_batch), y.split(self.micro_batch)))
        total = 0.0
        for inputs, targets in parts:
            loss = nn.functional.mse_loss(self.model(inputs), targets) / len(parts)
            loss.backward()
            total += loss.detach()
        self.optimizer.step()
        return total


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
    trainer = Trainer(TabularNet())
    x, y = torch.randn(10, 64, 48), torch.randn(10, 64)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = trainer.train_step(x[step % 10], y[step % 10])
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
