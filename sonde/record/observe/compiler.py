"""torch.compile: keep our code out of graphs."""

from __future__ import annotations

from typing import Any


def observe(dynamo: Any) -> None:
    """`torch._dynamo` has just been imported."""
    from torch._dynamo import trace_rules

    # Frames of ours are never compiled, nor inlined; the program's frames below them are.
    trace_rules.add("sonde")
