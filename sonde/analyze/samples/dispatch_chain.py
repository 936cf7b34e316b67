"""The dispatch chain of an operator: Python line → binding → dispatcher → kernel → (launch → GPU kernel).

Two sources, kept apart because they know different things. Recorded calls (profiling windows, imported
traces) know every call to the nanosecond: the representative is the call of median
duration, with the operators around and inside it, its launches and kernels, and the dead window before
the first dispatch. Samples know where inside a call the time is, level by level.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.moments import independent_looks
from sonde.analyze.base.nesting import nearest, skip, sum_children
from sonde.analyze.ops.table import counted
from sonde.analyze.samples.chain_levels import LEVELS, Levels
from sonde.analyze.samples.labels import frame_labels
from sonde.analyze.samples.native_split import wilson
from sonde.columns import Array, Table

MOST_FUNCTIONS = 4


@dataclass(frozen=True)
class CallStep:
    """An operator on the way to, or inside, the representative call."""

    name: str
    depth: int
    start_ns: int  # after the begin of the outermost operator
    total_ns: int
    self_ns: int


@dataclass(frozen=True)
class LaunchStep:
    """A launch inside the representative call and the device work that it started."""

    name: str
    start_ns: int  # after the begin of the outermost operator
    duration_ns: int
    kernel: str
    latency_ns: int  # from the begin of the launch to the begin of the kernel
    kernel_ns: int
    stream: int


@dataclass(frozen=True)
class Spread:
    """A figure over calls: median, and where eight of ten calls lie."""

    median_ns: float
    p10_ns: float
    p90_ns: float
    count: int


@dataclass(frozen=True)
class CallChain:
    """What recorded calls of the operator tell."""

    calls: int
    duration: Spread
    dead: Spread | None  # from the end of the operator before to the begin of the outermost around this one
    until: Spread | None  # from the begin of the outermost operator to the begin of this one
    op: int
    module: str | None
    file: str | None
    line: int
    shapes: str | None
    steps: list[CallStep]
    launches: list[LaunchStep] = field(default_factory=list)
    latency: Spread | None = None  # over all launches of all calls


@dataclass(frozen=True)
class LevelTime:
    """Samples that end on one level of the chain."""

    level: str
    title: str
    functions: list[str]  # on the heaviest path, caller first
    samples: int
    ns: int
    share: float
    low: float
    high: float


def call_chain(name: str, ops: Table, kernels: Table, launches: Table) -> CallChain | None:
    """The representative call of operator `name`; None when no call was recorded."""
    rows, parent = counted(ops)
    is_op = rows & ops.text("kind").matches(("op", "backward", "compiled"))
    calls = np.flatnonzero(is_op & ops.text("name").equals(name))
    if not len(calls):
        return None
    start, end = ops.array("start_ns"), ops.array("end_ns")
    above = skip(parent, is_op)
    top = _outermost(calls, above)
    length = end[calls] - start[calls]
    chosen = int(calls[np.argsort(length, kind="stable")[(len(calls) - 1) // 2]])
    base = int(start[_outermost(np.array([chosen]), above)[0]])
    inside = _inside(calls, above)
    pairs = _launched(inside, ops, kernels, launches)
    latencies = np.array([p.latency_ns for p, owner in pairs if p.latency_ns >= 0], np.int64)
    return CallChain(
        calls=len(calls),
        duration=_spread(length),
        dead=_maybe(_dead(np.unique(top), is_op & (above < 0), ops)),
        until=_maybe((start[calls] - start[top])[top != calls]),
        op=int(ops.array("op")[chosen]),
        module=ops.text("module")[chosen],
        file=ops.text("file")[chosen],
        line=int(ops.array("line")[chosen]),
        shapes=ops.text("shapes")[chosen],
        steps=_steps(chosen, ops, is_op, above, base),
        launches=[_moved(p, base) for p, owner in pairs if owner == chosen],
        latency=_maybe(latencies),
    )


def level_times(
    chosen: Array, samples: Table, stack: Array, levels: Levels, frames: Table
) -> list[LevelTime]:
    """Where the chosen samples end, in the order of the chain. `stack`: row in `stacks` of every sample."""
    rows = np.flatnonzero(chosen & (stack >= 0))
    weight = samples.array("weight_ns")
    whole = int(weight[rows].sum())
    if not whole:
        return []
    labels = frame_labels(frames)
    for row, library in enumerate(frames.text("library").tolist()):
        if (library or "").startswith(("libpython", "python")):
            labels[row] = ""  # the interpreter between two frames of Python says nothing here
    looks = independent_looks(samples.array("time_ns")[rows], weight[rows])
    names = list(LEVELS)
    result = []
    at = levels.level[stack[rows]]
    for code in np.unique(at).tolist():
        mine = rows[at == code]
        ns = int(weight[mine].sum())
        share = ns / whole
        functions = _heaviest(stack[mine], weight[mine], code, levels, labels)
        bounds = wilson(share, looks)
        result.append(LevelTime(names[code], LEVELS[names[code]], functions, len(mine), ns, share, *bounds))
    return result


def under(stack_has: Array, parent: Array) -> Array:
    """Rows of `stacks` that hold, or are called from, a row in the mask."""
    return nearest(parent, stack_has) >= 0


def _heaviest(stack: Array, weight: Array, code: int, levels: Levels, labels: list[str]) -> list[str]:
    """Functions of the level on the stack with most weight, caller first."""
    total: dict[int, int] = {}
    for row, ns in zip(stack.tolist(), weight.tolist(), strict=True):
        total[row] = total.get(row, 0) + ns
    row = max(total, key=lambda r: (total[r], -r))
    path: list[str] = []
    while row >= 0:
        if levels.level[row] == code and levels.frame[row] >= 0:
            label = labels[levels.frame[row]]
            if label and not label.startswith("[op]") and (not path or path[-1] != label):
                path.append(label)
        elif path:
            break
        row = int(levels.parent[row])
    path.reverse()
    return path if len(path) <= MOST_FUNCTIONS else [*path[:2], "…", *path[-2:]]


def _outermost(rows: Array, above: Array) -> Array:
    return nearest(above, above < 0)[rows]


def _inside(calls: Array, above: Array) -> Array:
    """For each row of `ops`, the call among `calls` that it is or lies in, -1 when none."""
    chosen = np.zeros(len(above), np.bool_)
    chosen[calls] = True
    return nearest(above, chosen)


def _dead(top: Array, tops: Array, ops: Table) -> Array:
    """Time between the end of the operator before (same thread) and the begin of each outermost one."""
    start, end, thread = ops.array("start_ns"), ops.array("end_ns"), ops.array("thread")
    order = np.flatnonzero(tops)
    order = order[np.lexsort((start[order], thread[order]))]
    place = rows_of(order, top)
    place = place[place > 0]
    before, own = order[place - 1], order[place]
    same = (thread[before] == thread[own]) & (end[before] <= start[own])
    gap: Array = (start[own] - end[before])[same]
    return gap


def _steps(chosen: int, ops: Table, is_op: Array, above: Array, base: int) -> list[CallStep]:
    start, end = ops.array("start_ns"), ops.array("end_ns")
    length = end - start
    own = length - sum_children(above, np.where(is_op, length, 0))
    path = [chosen]
    while above[path[0]] >= 0:
        path.insert(0, int(above[path[0]]))
    inside = _inside(np.array([chosen]), above)
    below = np.flatnonzero((inside == chosen) & is_op)
    below = below[below != chosen]
    below = below[np.lexsort((-end[below], start[below]))]
    depth = {row: i for i, row in enumerate(path)}
    for row in below.tolist():
        depth[row] = depth.get(int(above[row]), len(path) - 1) + 1
    return [
        CallStep(
            ops.text("name")[row] or "?", depth[row], int(start[row]) - base, int(length[row]), int(own[row])
        )
        for row in [*path, *below.tolist()]
    ]


def _launched(inside: Array, ops: Table, kernels: Table, launches: Table) -> list[tuple[LaunchStep, int]]:
    """Device work of the calls, with the launch that started it; times are still absolute."""
    if not len(kernels):
        return []
    row = rows_of(ops.array("op"), kernels.array("op"))
    owner = np.where(row >= 0, inside[np.maximum(row, 0)], -1)
    work = np.flatnonzero((owner >= 0) & kernels.text("kind").matches(("kernel", "memcpy", "memset")))
    launch = rows_of(launches.array("launch"), kernels.array("launch"))
    begin, finish = kernels.array("start_ns"), kernels.array("end_ns")
    found = []
    for k in work[np.argsort(begin[work], kind="stable")].tolist():
        at = int(launch[k])
        started = int(launches.array("start_ns")[at]) if at >= 0 else -1
        step = LaunchStep(
            name=(launches.text("name")[at] or "?") if at >= 0 else "no launch in the trace",
            start_ns=started if at >= 0 else int(begin[k]),
            duration_ns=int(launches.array("end_ns")[at]) - started if at >= 0 else 0,
            kernel=kernels.text("name")[k] or "?",
            latency_ns=int(begin[k]) - started if at >= 0 else -1,
            kernel_ns=int(finish[k] - begin[k]),
            stream=int(kernels.array("stream")[k]),
        )
        found.append((step, int(owner[k])))
    return found


def _moved(step: LaunchStep, base: int) -> LaunchStep:
    return LaunchStep(
        step.name,
        step.start_ns - base,
        step.duration_ns,
        step.kernel,
        step.latency_ns,
        step.kernel_ns,
        step.stream,
    )


def _maybe(values: Array) -> Spread | None:
    return _spread(values) if len(values) else None


def _spread(values: Array) -> Spread:
    low, middle, high = np.percentile(values, [10, 50, 90]).tolist()
    return Spread(middle, low, high, len(values))
