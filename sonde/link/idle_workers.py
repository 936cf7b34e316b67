"""Workers of thread pools that wait for their next task: idle, whatever they wait by.

The agent tells the reason of a wait from the system call; a worker that waits for work sleeps in the same one as a
thread that waits for a lock. Where its stack shows the loop of a known pool, the reason is `idle`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Table, Text

# Innermost functions of pools that wait for a task: OpenBLAS, torch's thread pool, autograd's device threads.
LOOPS = r"^(blas_thread_server|c10::ThreadPool::main_loop|torch::autograd::ReadyQueue::pop)$"


def with_idle_workers(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`samples` with that reason."""
    if not all(len(tables.get(name, ())) for name in ("frames", "stacks", "samples")):
        return {}
    samples = tables["samples"]
    index = StackIndex(tables["frames"], tables["stacks"])
    loops = index.frames_where(LOOPS, layer="^native$")
    if not loops.any():
        return {}
    stack = samples.array("stack").astype(np.int64)
    known = (stack >= 0) & (stack < len(index))
    in_loop = index.on_stack(loops)[np.where(known, stack, 0)] & known
    # The loop also runs the tasks: then something else of a program is below it, and the wait is that one's.
    python = index.on_stack(index.frames_where(".", layer="^(python|op)$"))[np.where(known, stack, 0)]
    idle = in_loop & ~python & samples.text("state").equals("waiting") & samples.text("reason").equals("lock")
    if not idle.any():
        return {}
    reasons = samples.text("reason").objects()
    return {
        "samples": samples.with_columns(
            reason=Text.of(["idle" if now else said for now, said in zip(idle, reasons, strict=True)])
        )
    }
