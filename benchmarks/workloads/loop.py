"""Times the inner loop of a workload and prints it as one JSON line, optionally under torch.profiler.

Usage: loop.py WORKLOAD SECONDS [none|default|shapes|stacks] [pairs|attribution]. The loop runs for
SECONDS of this process's CPU time after a warm-up, so that every arm does a comparable amount of work;
what is reported is CPU and wall time per step. With `pairs` the profiler is switched on and off
in pairs of short blocks, in random order, and the logarithms of CPU per step on over off are printed. With
`attribution` torch.profiler says which share of the CPU time it can name.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
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
    """W3: inference of a model of GPT-2's small size."""
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
    model = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval()
    x = torch.randn(1, 128, 768)

    def step() -> object:
        with torch.no_grad():
            return model(x)

    return step


class Transformed(torch.utils.data.Dataset[torch.Tensor]):
    """Items that Python makes, one number at a time."""

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([(index * k) % 255 / 255 for k in range(1500)])


def loader() -> Callable[[], object]:
    """W4: two workers with transforms in Python, and a small model."""
    torch.set_num_threads(1)
    batches = iter(torch.utils.data.DataLoader(Transformed(), batch_size=16, num_workers=2))
    model = nn.Linear(1500, 10)

    def step() -> object:
        return model(next(batches)).sum().backward()

    return step


WORKLOADS: dict[str, Callable[[], Callable[[], object]]] = {
    "op_dense": op_dense,
    "conv_net": conv_net,
    "transformer": transformer,
    "loader": loader,
}

BLOCK_S = 0.1  # of CPU time


def profiler(kind: str, tables: bool = False) -> contextlib.AbstractContextManager[Any]:
    """`tables`: stacks are wanted in key_averages(), too, where torch puts them only if asked in this way."""
    if kind == "none":
        return contextlib.nullcontext()
    more = torch._C._profiler._ExperimentalConfig(verbose=True) if tables and kind == "stacks" else None
    return torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        record_shapes=kind == "shapes",
        with_stack=kind == "stacks",
        experimental_config=more,
    )


def pairs(step: Callable[[], object], kind: str, seconds: float) -> list[float]:
    """Log of CPU per step with the profiler over that without, per pair. Start and stop are not counted."""
    chance = random.Random(1)
    found = []
    end = time.process_time() + seconds
    while time.process_time() < end:
        cost = {}
        for on in chance.sample([True, False], 2):
            with profiler(kind if on else "none"):
                step()
                cpu, steps = time.process_time(), 0
                while time.process_time() - cpu < BLOCK_S:
                    step()
                    steps += 1
                cost[on] = (time.process_time() - cpu) / steps
        found.append(math.log(cost[True] / cost[False]))
    return found


def attribution(profile: Any, cpu_s: float) -> dict[str, float]:
    """Share of the loop's CPU time that operators name, and that carries a Python frame too."""
    averages = profile.key_averages(group_by_stack_n=5)
    not_operators = ("ProfilerStep", "nn.Module: ", "<")  # <built-in …>
    operators = [e for e in averages if ".py(" not in e.key and not e.key.startswith(not_operators)]
    named = sum(e.self_cpu_time_total for e in operators) / 1e6
    lined = sum(e.self_cpu_time_total for e in averages if e.stack) / 1e6
    return {"op": min(named / cpu_s, 1.0), "python": min(lined / cpu_s, 1.0)}


def main() -> None:
    name, seconds = sys.argv[1], float(sys.argv[2])
    kind = sys.argv[3] if len(sys.argv) > 3 else "none"
    how = sys.argv[4] if len(sys.argv) > 4 else ""
    torch.manual_seed(0)
    step = WORKLOADS[name]()
    for _ in range(WARMUP_STEPS):
        step()
    if how == "pairs":
        print(json.dumps(pairs(step, kind, seconds)))
        return
    with profiler(kind, tables=how == "attribution") as profile:
        cpu, wall, steps = time.process_time(), time.perf_counter(), 0
        while time.process_time() - cpu < seconds:
            step()
            steps += 1
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    figures: dict[str, float] = {"cpu_ms_per_step": cpu / steps * 1e3, "wall_ms_per_step": wall / steps * 1e3}
    if how == "attribution":
        figures |= attribution(profile, cpu)
    print(json.dumps({**figures, "steps": steps}))


if __name__ == "__main__":
    main()
