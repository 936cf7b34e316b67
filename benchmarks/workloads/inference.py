"""A perceptron that only answers: its steps are calls of the model. Starts in half the time of a training program.

(torch imports its compiler with the first optimizer, two seconds that have nothing to do with what is compared.)
"""

from __future__ import annotations

import sys

import torch
from torch import nn


def main(steps: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    x = torch.randn(128, 784)
    with torch.inference_mode():
        for _ in range(steps):
            y = model(x)
    print(f"inference: {steps} steps, score {y.square().mean().item():.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
