"""Metric learning with batch-hard triplets."""

import argparse
import time

import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self, inputs=256, width=1024, size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, size))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


class BatchHardTripletLoss(nn.Module):
    def __init__(self, margin=0.3):
        super().__init__()
        self.margin = margin

    def hardest(self, distance, labels):
        near, far = [], []
        for row, label in zip(distance, labels):
            same = labels == label
            far.append(row[same].max())
            near.append(row[~same].min())
        return torch.stack(far), torch.stack(near)

    def forward(self, vectors, labels):
        distance = 1 - vectors @ vectors.T
        positive, negative = self.hardest(distance, labels)
        return torch.relu(positive - negative + self.margin).mean()


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
    model, criterion = Embedder(), BatchHardTripletLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    x = torch.randn(8, 96, 256)
    labels = torch.randint(0, 16, (8, 96))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = criterion(model(x[step % 8]), labels[step % 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
