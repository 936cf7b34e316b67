"""Gradient descent with a learning rate per layer, set by rules on parameter names."""

import argparse
import time

import torch
from torch import nn


class ResidualNet(nn.Module):
    def __init__(self, width=128, depth=24):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU()) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x).squeeze(-1)


class LayerwiseDescent:
    def __init__(self, model, rate, decay=0.95):
        self.model = model
        self.rates = {}
        for name, _ in model.named_parameters():
            depth = int(name.split(".")[1]) if name.startswith("layers") else 24
            self.rates[name] = rate * decay ** (24 - depth)

    def parameter(self, name):
        return dict(self.model.named_parameters())[name]

    @torch.no_grad()
    def apply_update(self):
        for name, rate in self.rates.items():
            parameter = self.parameter(name)
            parameter.add_(parameter.grad, alpha=-rate)
            parameter.grad = None


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
    model = ResidualNet()
    descent = LayerwiseDescent(model, rate=1e-5)
    inputs, targets = torch.randn(8, 256, 128), torch.randn(8, 256)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = nn.functional.mse_loss(model(inputs[step % 8]), targets[step % 8])
        loss.backward()
        descent.apply_update()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
