"""A matrix multiplication and a bias addition, again and again.

What it shows: at `--size 16` a step costs microseconds and nearly all of it is
overhead (Python, dispatch, allocation); at `--size 1024` nearly all of it is
BLAS and the addition is bound by memory. `--compile` fuses what can be fused,
so the answer to "does torch.compile help?" depends on the size. `--both` runs one
after the other, to see both chains side by side in one recording:
    sonde run examples/matmul_add.py --both --size 64 --steps 20000
    sonde show matmul_add.sonde chain --op aten::mm --against matmul_add.sonde
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor


def matmul_add(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.mm(x, weight) + bias


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=200, help="how often")
    parser.add_argument("--size", type=int, default=512, help="rows and columns of the square matrices")
    parser.add_argument(
        "--compile", action="store_true", help="go through torch.compile (needs a C++ compiler)"
    )
    parser.add_argument("--both", action="store_true", help="first eager, then compiled")
    options = parser.parse_args()

    torch.manual_seed(0)
    size = options.size
    x = torch.randn(size, size)
    weight = torch.randn(size, size) / size**0.5  # keeps the scale of x from step to step
    bias = torch.randn(size) / 100
    calls: list[Callable[[Tensor, Tensor, Tensor], Tensor]] = []
    if options.both or not options.compile:
        calls.append(matmul_add)
    if options.both or options.compile:
        calls.append(torch.compile(matmul_add))
    with torch.inference_mode():
        y = x
        for call in calls:
            for _ in range(options.steps):
                y = call(x, weight, bias)
    print(f"matmul_add: {options.steps} steps of {size}, mean square {y.square().mean().item():.3f}")


if __name__ == "__main__":
    main()
