"""Train an attention pooler and keep its maps for later inspection."""

import argparse
import pathlib
import tempfile
import time

import numpy
import torch
from torch import nn


class AttentionPooler(nn.Module):
    def __init__(self, width=64, queries=16):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, width))
        self.key = nn.Linear(width, width)
        self.head = nn.Linear(queries * width, 1)

    def forward(self, x):
        attention = (self.queries @ self.key(x).transpose(1, 2) / 8).softmax(-1)
        return self.head((attention @ x).flatten(1)).squeeze(-1), attention


class MapRecorder:
    def __init__(self, folder, keep=50):
        self.folder, self.keep = pathlib.Path(folder), keep

    def save_map(self, step, attention):
        values = attention.detach().flatten(0, 1).numpy()
        numpy.save(self.folder / f"map{step % self.keep:03d}.npy", values)


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
    model = AttentionPooler()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    x, y = torch.randn(8, 32, 64, 64), torch.randn(8, 32)
    with tempfile.TemporaryDirectory() as folder:
        recorder = MapRecorder(folder)
        step, start = 0, time.perf_counter()
        while unfinished(args, step, start):
            prediction, attention = model(x[step % 8])
            loss = nn.functional.mse_loss(prediction, y[step % 8])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorder.save_map(step, attention[:4])
            step += 1
        report(step, start, loss.item())


if __name__ == "__main__":
    main()
