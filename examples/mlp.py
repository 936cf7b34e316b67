"""A multi-layer perceptron on a synthetic classification task.

What it shows: few, large matrix multiplications (`aten::addmm`, BLAS) around
cheap element-wise operators; the simplest program with forward, backward and
optimizer phases. With `--width 32` the same program is bound by overhead.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.nn import functional as F


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300, help="training steps")
    parser.add_argument("--batch", type=int, default=128, help="rows per step")
    parser.add_argument("--width", type=int, default=512, help="hidden units per layer")
    options = parser.parse_args()

    torch.manual_seed(0)
    x = torch.randn(4096, 784)
    y = (x @ torch.randn(784, 10)).argmax(1)  # ten classes that a linear map separates
    model = nn.Sequential(
        nn.Linear(784, options.width),
        nn.ReLU(),
        nn.Linear(options.width, options.width),
        nn.ReLU(),
        nn.Linear(options.width, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loss = torch.zeros(())
    for step in range(options.steps):
        start = step * options.batch % len(x)
        logits = model(x[start : start + options.batch])
        loss = F.cross_entropy(logits, y[start : start + options.batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"mlp: {options.steps} steps, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
