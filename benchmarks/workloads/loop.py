"""Times the inner loop of a workload and prints it as one JSON line, optionally under torch.profiler.

Usage: loop.py WORKLOAD SECONDS [none|default|shapes|stacks]. The loop runs for SECONDS of this
thread's CPU time after a warm-up, so that every arm does a comparable amount of work; what is
reported is CPU and wall time per step.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

WARMUP_STEPS = 5


def op_dense() -> Callable[[], object]:
    """W1: many tiny operators; the cost per operator shows."""
    torch.set_num_threads(1)
    model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.ReLU())])
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(4, 64)

    def step() -> object:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return optimizer.step()

    return step


def conv_net() -> Callable[[], object]:
    """W2: convolutions in generated code, two threads."""
    blocks: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU()]
    for _ in range(3):
        blocks += [nn.Conv2d(64, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU()]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3, 112, 112), torch.randint(0, 10, (8,))

    def step() -> object:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return optimizer.step()

    return step


def transformer() -> Callable[[], object]:
    """W3: a small transformer's inference."""
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    x = torch.randn(1, 128, 256)

    def step() -> object:
        with torch.no_grad():
            return model(x)

    return step


WORKLOADS: dict[str, Callable[[], Callable[[], object]]] = {
    "op_dense": op_dense,
    "conv_net": conv_net,
    "transformer": transformer,
}


def profiler(kind: str) -> contextlib.AbstractContextManager[Any]:
    if kind == "none":
        return contextlib.nullcontext()
    return torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        record_shapes=kind == "shapes",
        with_stack=kind == "stacks",
    )


def main() -> None:
    name, seconds = sys.argv[1], float(sys.argv[2])
    kind = sys.argv[3] if len(sys.argv) > 3 else "none"
    torch.manual_seed(0)
    step = WORKLOADS[name]()
    for _ in range(WARMUP_STEPS):
        step()
    with profiler(kind):
        cpu, wall, steps = time.process_time(), time.perf_counter(), 0
        while time.process_time() - cpu < seconds:
            step()
            steps += 1
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(
        json.dumps(
            {"cpu_ms_per_step": cpu / steps * 1e3, "wall_ms_per_step": wall / steps * 1e3, "steps": steps}
        )
    )


if __name__ == "__main__":
    main()
