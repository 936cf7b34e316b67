"""What the observers' hooks cost: CPU microseconds per training step and per inference call.

Usage: python -m benchmarks hooks [--repeat N] [--steps N]
The calls that hooks sit on (zero_grad, an outermost module, backward, optimizer.step) are made
empty first, so that what remains is the hooks' own cost; each is timed in one process before
and after the observers are installed, and the difference is printed. No sampling takes place.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks.lib.environment import write


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    import torch

    loops = _loops(torch)
    before = {name: _cost_us(loop, options) for name, loop in loops.items()}
    with tempfile.TemporaryDirectory() as folder:
        from sonde.record.frameworks.torch.inside import install

        settings = {"folder": folder, "window": "auto", "budget": 0.0, "lines": True}
        started = time.perf_counter_ns()
        install.observe(torch, settings)
        install_ms = (time.perf_counter_ns() - started) / 1e6
        after = {}
        for name, loop in loops.items():
            after[name] = _cost_us(loop, options)
        rows = [
            {
                "what": name,
                "before_us": before[name],
                "after_us": after[name],
                "cost_us": after[name] - before[name],
            }
            for name in loops
        ]
        for row in rows:
            print(
                f"{row['what']:28} {row['before_us']:8.2f} → {row['after_us']:8.2f} µs: {row['cost_us']:+.2f} µs"
            )
        print(f"installing                   {install_ms:8.2f} ms")
        print(write("hooks", {"rows": rows, "install_ms": install_ms}))


def _loops(torch: Any) -> dict[str, Callable[[int], None]]:
    """Name → a function that makes so many calls. Inference comes first: training changes what a call is."""

    class Nothing(torch.nn.Module):  # type: ignore[misc]
        def forward(self) -> None:
            return None

    class Still(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__([torch.zeros(1)], {})

        def zero_grad(self, set_to_none: bool = True) -> None:
            return None

        def step(self, closure: Any = None) -> None:
            return None

    def no_backward(*args: Any, **kwargs: Any) -> None:
        return None

    torch.optim.Optimizer.zero_grad = no_backward
    torch.autograd._engine_run_backward = no_backward
    model, other, optimizer = Nothing(), Nothing(), Still()
    del Still.zero_grad
    nest = torch.nn.Sequential()

    def inference(calls: int) -> None:
        for _ in range(calls):
            model()

    def two_models(calls: int) -> None:
        for _ in range(calls // 2):
            model()
            other()

    def inner(calls: int) -> None:
        """A module inside a module."""
        run = model.__call__
        nest.forward = lambda: [run() for _ in range(calls)]  # type: ignore[assignment]
        nest()

    def optimizer_only(steps: int) -> None:
        for _ in range(steps):
            optimizer.step()

    def training(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            model()
            torch.autograd._engine_run_backward()
            optimizer.step()

    return {
        "inference call": inference,
        "inference, two in turn": two_models,
        "inner module call": inner,
        "optimizer.step()": optimizer_only,
        "whole training step": training,
    }


def _cost_us(loop: Callable[[int], None], options: argparse.Namespace) -> float:
    """Median over repeats of CPU time per call."""
    loop(200)
    found = []
    for _ in range(options.repeat):
        start = time.thread_time_ns()
        loop(options.steps)
        found.append((time.thread_time_ns() - start) / options.steps / 1e3)
    return statistics.median(found)


if __name__ == "__main__":
    main()
