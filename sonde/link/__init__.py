"""What belongs together: pure passes over tables, the same for every recording, however it came in.

Enters: what a decoder read, each fact by itself. Leaves: the same tables with their links. Passes run in the order of
the lists below.

`CALL_PASSES` run on the calls of one source: a window, a trace of the program's own profiler, an imported file.
`sonde.link.samples` then joins all calls of a recording to its samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.columns import Table
from sonde.link.costs import with_costs
from sonde.link.forward import with_forward
from sonde.link.memory import with_memory

Tables = Mapping[str, Table]
Pass = Callable[[Tables], dict[str, Table]]

CALL_PASSES: tuple[Pass, ...] = (
    with_forward,  # backward operators → the forward operator whose gradient they compute
    with_memory,  # allocations → the operator that made them, and its net bytes
    with_costs,  # FLOPs and bytes, from shapes
)


def link_calls(tables: Tables) -> dict[str, Table]:
    """The tables of one source, linked. Needs `ops`; links what else is there."""
    linked = dict(tables)
    for link in CALL_PASSES:
        linked |= link(linked)
    return linked
