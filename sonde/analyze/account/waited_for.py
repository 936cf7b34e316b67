"""A thread that waits inside a library whose own threads work meanwhile (XLA, ONNX Runtime, OpenVINO): their work is
what it waits for, no lock that anybody holds for too long.

In: `samples` of all threads, `threads`, `StackIndex` and the kind of each stack. Out: per sample the code of the kind
of work that the process's other threads did during such a wait, -1 for every other sample.
All waits at one stack are judged together: a sample stands for milliseconds, a single wait may be shorter.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.account.kinds import KINDS
from sonde.analyze.samples.stack_index import Mask, StackIndex
from sonde.columns import Array, Table

MEANWHILE = 0.5  # CPU time of other threads per time waited: with less nobody works for the one that waits
# The program's own locks and queues are taken in these; who waits there waits for its own doing.
_COMMON = (
    r"^(libc[.-]|libpython|python|ld-linux|libpthread|libm[.-]|libstdc|libgcc|linux-vdso|\[vdso|libgomp|libomp"
    r"|libiomp|libsonde|libtorch|libc10|_C\.|libshm)|^$"
)


def work_waited_for(samples: Table, threads: Table, index: StackIndex, kind_of_stack: Array) -> Array:
    """Code of the kind of work behind each wait, -1 where there is none."""
    found = np.full(len(samples), -1, np.int64)
    stack = samples.array("stack").astype(np.int64)
    stack = np.where((stack >= 0) & (stack < len(index)), stack, -1)
    state, reason = samples.text("state"), samples.text("reason")
    waits = state.equals("waiting") & reason.equals("lock") & np.append(_in_a_library(index), False)[stack]
    if not waits.any():
        return found
    process = np.zeros(
        max(int(threads.array("thread").max(initial=0)), int(samples.array("thread").max())) + 2, np.int64
    )
    process[threads.array("thread")] = threads.array("process")
    owner = process[samples.array("thread")]
    running = state.equals("running")
    kinds = np.append(kind_of_stack, -1)[stack]
    for one in np.unique(owner[waits]).tolist():
        mine = np.flatnonzero(waits & (owner == one))
        by_kind = _worked_within(samples, np.flatnonzero(running & (owner == one)), kinds, mine)
        places, at = np.unique(stack[mine], return_inverse=True)
        waited = np.bincount(at, samples.array("weight_ns")[mine], len(places))
        worked = np.stack([np.bincount(at, column, len(places)) for column in by_kind.T], axis=1)
        served = worked.sum(axis=1) >= MEANWHILE * np.maximum(waited, 1)
        found[mine] = np.where(served, worked.argmax(axis=1), -1)[at]
    return found


def _in_a_library(index: StackIndex) -> Mask:
    """Stacks whose innermost native frame outside the system's, Python's and torch's libraries is below all Python."""
    native = index.frames_where(layer="^native$")
    foreign = native & ~index.frames_where(library=_COMMON)
    python = index.frames_where(layer="^python$")
    at = index.innermost(foreign | python)
    found: Mask = np.append(foreign, False)[at]
    return found


def _worked_within(samples: Table, running: Array, kinds: Array, waits: Array) -> Array:
    """CPU time of each kind during each wait: a row per wait, a column per kind."""
    time = samples.array("time_ns").astype(np.int64)
    running = running[np.argsort(time[running], kind="stable")]
    weight = np.maximum(samples.array("weight_ns")[running], 0).astype(np.float64)
    columns = np.zeros((len(running) + 1, len(KINDS)))
    known = kinds[running] >= 0
    columns[1:][np.flatnonzero(known), kinds[running][known]] = weight[known]
    sums = columns.cumsum(axis=0)
    begin = time[waits]
    end = begin + np.maximum(samples.array("weight_ns")[waits], 0).astype(np.int64)
    ticks = time[running]
    result: Array = sums[np.searchsorted(ticks, end, "right")] - sums[np.searchsorted(ticks, begin, "left")]
    return result
