"""A traced program of some steps, for tests of what windows learn of lines."""

from __future__ import annotations

import sys
from typing import Any

import torch

from sonde.record.frameworks.torch.inside.lines import LineTrace
from sonde.record.frameworks.torch.inside.values import _earlier


def traced_steps(step: Any, steps: int) -> LineTrace:
    """The trace of `step(number)`, called so often."""
    _earlier.clear()
    trace = LineTrace(torch)
    assert trace.start(sys._getframe(1))
    try:
        for number in range(steps):
            step(number)
            trace.step()
    finally:
        trace.stop()
    return trace
