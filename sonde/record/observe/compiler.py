"""torch.compile: keep our code out of graphs, and see what the compiler does."""

from __future__ import annotations

import os
from typing import Any


def observe(dynamo: Any) -> None:
    """`torch._dynamo` has just been imported."""
    from torch._dynamo import trace_rules

    # As with torch.nn itself: a frame of ours is never compiled on its own (it would be
    # compiled to the nothing that it is while tracing), yet inlined where traced code calls it.
    trace_rules.add("sonde")
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
    inlined = getattr(trace_rules, "BUILTIN_INLINE_WHEN_CALLED", None)
    if inlined is not None:
        trace_rules.BUILTIN_INLINE_WHEN_CALLED = type(inlined)([*inlined, folder])
