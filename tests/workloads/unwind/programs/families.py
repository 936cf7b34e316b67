"""Nineteen families of torch operators, each in a function of its own name for a given CPU time.

argv: seconds of CPU time per family, then names (default: all).
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import warnings
from collections.abc import Callable

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)
Run = Callable[[], object]


def quantised() -> Run:
    model = nn.Sequential(nn.Linear(512, 512))
    dynamic = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    x = torch.randn(64, 512)
    return lambda: dynamic(x)


def embedding_bag() -> Run:
    bag = nn.EmbeddingBag(50000, 64, mode="sum")
    indices, offsets = torch.randint(0, 50000, (20000,)), torch.arange(0, 20000, 20)
    return lambda: bag(indices, offsets)


def threads() -> Run:
    a = torch.randn(200, 200)

    def run() -> None:
        both = [threading.Thread(target=lambda: [a @ a for _ in range(5)]) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()

    return run


def apply(function: Callable[..., object], *inputs: object) -> Run:
    return lambda: function(*inputs)


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


FAMILIES: dict[str, Callable[[], Run]] = {
    "mm": lambda: apply(torch.mm, randn(512, 512), randn(512, 512)),
    "mm_odd": lambda: apply(torch.mm, randn(317, 211), randn(211, 133)),
    "mm_double": lambda: apply(torch.mm, randn(300, 300).double(), randn(300, 300).double()),
    "bmm": lambda: apply(torch.bmm, randn(64, 64, 64), randn(64, 64, 64)),
    "mv": lambda: apply(torch.mv, randn(1000, 1000), randn(1000)),
    "linear_bf16": lambda: apply(nn.Linear(512, 512).bfloat16(), randn(256, 512).bfloat16()),
    "sdpa": lambda: apply(nn.functional.scaled_dot_product_attention, *[randn(2, 8, 256, 64)] * 3),
    "fft": lambda: apply(torch.fft.fft2, randn(512, 512)),
    "svd": lambda: apply(torch.linalg.svd, randn(120, 120)),
    "lstm": lambda: apply(nn.LSTM(64, 128), randn(50, 16, 64)),
    "quantised": quantised,
    "embedding_bag": embedding_bag,
    "conv_1x1": lambda: apply(nn.Conv2d(64, 64, 1), randn(2, 64, 56, 56)),
    "conv_depthwise": lambda: apply(nn.Conv2d(64, 64, 3, padding=1, groups=64), randn(2, 64, 56, 56)),
    "conv_bf16": lambda: apply(nn.Conv2d(32, 64, 3).bfloat16(), randn(2, 32, 56, 56).bfloat16()),
    "elementwise": lambda: apply(lambda a: torch.exp(a).mul_(2).sin_(), randn(1000000)),
    "sort": lambda: apply(torch.sort, randn(300000)),
    "softmax": lambda: apply(torch.softmax, randn(1000, 1000), -1),
    "threads": threads,
}


def convolutions() -> Run:
    model = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 128, 3, 1, 1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    return training(model, randn(4, 3, 96, 96), 10)


def perceptron() -> Run:
    sizes = [256, 512, 512]
    layers = [layer for a, b in itertools.pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
    return training(nn.Sequential(*layers, nn.Linear(512, 10)), randn(64, 256), 10)


def transformer() -> Run:
    block = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(block, 2), nn.Flatten(), nn.Linear(64 * 128, 10))
    return training(model, randn(4, 64, 128), 10)


def training(model: nn.Module, x: torch.Tensor, classes: int) -> Run:
    optimizer = torch.optim.AdamW(model.parameters())
    target = torch.randint(0, classes, (x.shape[0],))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return step


TRAININGS = {"train_conv": convolutions, "train_mlp": perceptron, "train_gpt": transformer}


def main() -> None:
    seconds = float(sys.argv[1])
    everything = {**FAMILIES, **TRAININGS}
    for name in sys.argv[2:] or everything:
        run = everything[name]()
        run()
        # A function per family: its name is in every Python stack of the family.
        space: dict[str, Callable[[Run], None]] = {"time": time}  # type: ignore[dict-item]
        exec(
            f"def family_{name}(run):\n"
            f"    end = time.process_time() + {seconds}\n"
            f"    while time.process_time() < end: run()\n",
            space,
        )
        space[f"family_{name}"](run)


main()
