"""What each step spends its time on, by priority: the breakdown of the TensorBoard plugin.

Enters: the tables of a trace. Leaves: one `StepBreakdown` per step.
Kernel > Memcpy > Memset > Communication > Runtime > DataLoader > CPU Exec > Other: each class takes
what is left of the step after those before it, so the parts add up to the step exactly.
A step runs from its host start (or the end of the step before, if later) to the later of its host end
and the end of the device events that it launched. A last step that launched less than 80 % of the
events of the step before is left out: the profiler stopped before its kernels were delivered.
Unlike the plugin, communication is told by the class of the kernel and driver calls count as Runtime:
the plugin knows only `nccl:*` operators by id and no `cuda_driver`, so newer traces showed 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import Spans, both, intersect, subtract, union
from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_names import COMMUNICATION, by_name
from sonde.analyze.steps.trace import TraceSteps
from sonde.columns import Array, Table

PARTS = ("Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other")
_TAIL_SHARE = 0.8
_HOST_KINDS = ("op", "annotation", "backward", "compiled")  # not Python frames: they may outlast the trace


@dataclass(frozen=True)
class StepBreakdown:
    """One step: its window and the nanoseconds of each of PARTS."""

    number: int
    start_ns: int
    end_ns: int
    parts_ns: dict[str, int]

    @property
    def total_ns(self) -> int:
        return self.end_ns - self.start_ns


def step_breakdown(
    steps: TraceSteps, work: Work, kernels: Table, launches: Table, ops: Table
) -> list[StepBreakdown]:
    """Per step, in order. Without named steps, the host's whole time is one step numbered 0."""
    start, end, number = _windows(steps, work, ops)
    if not len(start):
        return []
    whole = union(start, end)
    taken: dict[str, Spans] = {}
    left = whole
    for part, spans in _roles(work, kernels, launches, ops):
        taken[part] = intersect(left, spans)
        left = subtract(left, spans)
    taken["Other"] = left
    rows = {part: taken[part].within(start, end) for part in PARTS}
    return [
        StepBreakdown(int(number[i]), int(start[i]), int(end[i]), {p: int(rows[p][i]) for p in PARTS})
        for i in range(len(start))
    ]


def mean_parts_ns(steps: list[StepBreakdown]) -> dict[str, float]:
    """Mean over the steps of each part, and of the whole as "Total"."""
    if not steps:
        return {}
    mean = {p: sum(s.parts_ns[p] for s in steps) / len(steps) for p in PARTS}
    return {"Total": sum(s.total_ns for s in steps) / len(steps), **mean}


def is_data_loading(name: str) -> bool:
    """Regions in which the program asks its DataLoader for the next batch."""
    return (name.startswith("enumerate(DataLoader)#") and name.endswith(".__next__")) or name.startswith(
        "enumerate(DataPipe)#"
    )


def _roles(work: Work, kernels: Table, launches: Table, ops: Table) -> list[tuple[str, Spans]]:
    kind = kernels.text("kind").take(work.row)
    communication = work.kind_class == COMMUNICATION
    loading = by_name(ops.text("name"), is_data_loading)
    named_step = by_name(ops.text("name"), lambda n: n.startswith("ProfilerStep"))
    on_cpu = ops.text("kind").matches(_HOST_KINDS) & ~named_step & ~loading
    spans_of = _spans(work.start, work.end)
    host = _spans(ops.array("start_ns"), ops.array("end_ns"))
    return [
        ("Kernel", spans_of(kind.equals("kernel") & ~communication)),
        ("Memcpy", spans_of(kind.equals("memcpy"))),
        ("Memset", spans_of(kind.equals("memset"))),
        (
            "Communication",
            both(spans_of(communication), host(by_name(ops.text("name"), _is_collective) & on_cpu)),
        ),
        ("Runtime", union(launches.array("start_ns"), launches.array("end_ns"))),
        ("DataLoader", host(loading)),
        ("CPU Exec", host(on_cpu)),
    ]


def _is_collective(name: str) -> bool:
    return name.startswith(("nccl:", "gloo:"))


def _spans(start: Array, end: Array) -> Callable[[Array], Spans]:
    return lambda mask: union(start[mask], end[mask])


def _windows(steps: TraceSteps, work: Work, ops: Table) -> tuple[Array, Array, Array]:
    if not len(steps):
        host = np.flatnonzero(ops.text("kind").matches(_HOST_KINDS))
        if not len(host):
            none = np.empty(0, np.int64)
            return none, none, none
        low, high = int(ops.array("start_ns")[host].min()), int(ops.array("end_ns")[host].max())
        if len(work):
            high = max(high, int(work.end.max()))
        return np.array([low]), np.array([high]), np.array([0])
    start, end = steps.start.copy(), steps.end.copy()
    if steps.events.sum():
        earlier = _leftover_end(steps, work)
        finish = np.maximum(end, steps.device_end)
        reach = np.maximum.accumulate(finish)
        start = np.maximum(start, np.concatenate(([earlier], reach[:-1])))
        end = np.maximum(finish, start)
    keep = _kept(steps.events) if len(steps) > 1 and steps.events.sum() else len(steps)
    return start[:keep], end[:keep], steps.number[:keep]


def _leftover_end(steps: TraceSteps, work: Work) -> int:
    """Last end of the events launched before the first step that finish before its own first event."""
    first = int(steps.start[0])
    if steps.events[0] == 0:
        return first
    launched_in = np.zeros(len(work), bool)
    index = np.searchsorted(steps.start, work.launch_start, "right") - 1
    inside = work.launched & (index >= 0)
    launched_in[inside] = work.launch_end[inside] <= steps.end[index[inside]]
    before = work.end[~launched_in & (work.end < steps.device_start[0])]
    return max(first, int(before.max())) if len(before) else first


def _kept(events: Array) -> int:
    last = int(np.flatnonzero(events)[-1])
    if last > 0 and events[last - 1] * _TAIL_SHARE > events[last]:
        return last
    return last + 1
