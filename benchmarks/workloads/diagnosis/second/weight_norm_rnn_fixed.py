"""A recurrent sequence model with a weight-normalised transition."""

import argparse
import contextlib
import time

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize


class Transition(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.read = nn.Linear(inputs, width)
        self.turn = parametrizations.weight_norm(nn.Linear(width, width))

    def forward(self, x, state):
        return torch.tanh(self.read(x) + self.turn(state))


class SequenceModel(nn.Module):
    def __init__(self, inputs=8, width=384):
        super().__init__()
        self.cell = Transition(inputs, width)
        self.head = nn.Linear(width, inputs)
        self.width = width

    def forward(self, sequence):
        state = sequence.new_zeros(len(sequence), self.width)
        with parametrize.cached():
            for x in sequence.unbind(1):
                state = self.cell(x, state)
        return self.head(state)


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
    model = SequenceModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    x, y = torch.randn(6, 16, 24, 8), torch.randn(6, 16, 8)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = nn.functional.mse_loss(model(x[step % 6]), y[step % 6])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
