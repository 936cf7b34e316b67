"""What belongs together: pure passes over tables, the same for every recording, however it came in.

Enters: what decoders read, each fact by itself. Leaves: the same tables with their links. In this order:

1. One source at a time (a window, a trace of the program's own profiler, MXNet's, an imported file):
   `clocks.on_our_clock` and `numbering.renumbered` make it part of a recording that has other sources, too. A trace
   that is a recording by itself keeps its clock and its numbers.
2. `CALL_PASSES`, on the calls of that source.
3. `RECORDING_PASSES`, once all sources are together.

`link` does 2 and 3 for what is one source and a recording at once. A pass whose tables are not there does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.columns import Table
from sonde.link.collectives import with_collective_places
from sonde.link.costs import with_costs
from sonde.link.forward import with_forward
from sonde.link.idle_workers import with_idle_workers
from sonde.link.kernel_names import with_kernel_names
from sonde.link.memory import with_memory
from sonde.link.primitives import with_primitive_ops
from sonde.link.printed_calls import with_printed_calls
from sonde.link.samples import with_sample_ops, with_sample_steps
from sonde.link.step_bounds import with_step_bounds
from sonde.link.taken_in_windows import with_taken_in_windows
from sonde.link.wait_names import with_wait_names

Tables = Mapping[str, Table]
Pass = Callable[[Tables], dict[str, Table]]

CALL_PASSES: tuple[Pass, ...] = (
    with_forward,  # backward operators → the forward operator whose gradient they compute, and its line and module
    with_memory,  # allocations → the operator that made them, and its net bytes
    with_costs,  # FLOPs and bytes, from shapes
)
RECORDING_PASSES: tuple[Pass, ...] = (
    with_wait_names,  # nameless functions that only wait → "wait loop of LIBRARY"
    with_idle_workers,  # waits of pool workers for their next task → idle
    with_kernel_names,  # the functions of Inductor's libraries → the kernels that they are
    with_taken_in_windows,  # time taken from a window's thread → where the window counted it
    with_sample_ops,  # samples → the operator call that they fell into
    with_step_bounds,  # steps that begin with validation or saving → begin after it
    with_sample_steps,  # samples → the step that they fell into
    with_collective_places,  # collectives → the step they are in and the line that asked for them
    with_primitive_ops,  # calls of oneDNN and MKL → the operator call around them
    with_printed_calls,  # operator calls that printing slowed → set apart, where there are others
)


def link_calls(tables: Tables) -> dict[str, Table]:
    """The tables of one source, linked."""
    return _run(CALL_PASSES, tables) if "ops" in tables else dict(tables)


def link_recording(tables: Tables) -> dict[str, Table]:
    """The tables of all sources of a recording, linked."""
    return _run(RECORDING_PASSES, tables)


def link(tables: Tables) -> dict[str, Table]:
    """The tables of a recording with one source, linked."""
    return link_recording(link_calls(tables))


def _run(passes: tuple[Pass, ...], tables: Tables) -> dict[str, Table]:
    linked = dict(tables)
    for one in passes:
        linked |= one(linked)
    return linked
