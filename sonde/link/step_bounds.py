"""Where training steps begin: after validation, generation and saving that lie between two of them.

An optimizer's step ends a training step and begins the next (`sonde.record.inside.steps`), so whatever a program does
every so often in between is in the step that follows. In: `marks`, and `samples` with their stacks. Out: `marks` in
which such a step begins later; what lay before is then in no step, and a phase of the run
(`sonde.analyze.steps.run_phases`).

- Forward passes without gradients at the begin of a step, where the usual step has none or clearly fewer. What
  every step does (a target network, a test in each epoch of one step) stays in the step.
- torch.save before the first phase of a step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.steps.run_phases import MOSTLY, in_saving
from sonde.columns import Array, Table

MORE = 4  # passes above the usual number, at least, where the usual step has some


def with_step_bounds(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`marks` whose training steps hold training alone."""
    marks = tables.get("marks")
    if marks is None or not len(marks):
        return {}
    kind, name = marks.text("kind"), marks.text("name")
    steps = np.flatnonzero(kind.equals("step") & name.equals("train"))
    if not len(steps):
        return {}
    begin = marks.array("start_ns").copy()
    for process in np.unique(marks.array("process")[steps]).tolist():
        mine = steps[marks.array("process")[steps] == process]
        mine = mine[np.argsort(begin[mine], kind="stable")]
        phases = marks.take(np.flatnonzero(kind.equals("phase") & (marks.array("process") == process)))
        begin[mine] = _after_passes(begin[mine], marks.array("end_ns")[mine], phases)
        begin[mine] = _after_saving(begin[mine], marks.array("end_ns")[mine], phases, tables, process)
    return {"marks": marks.with_columns(start_ns=begin)}


def _after_passes(start: Array, end: Array, phases: Table) -> Array:
    """Starts of steps in the order of time, moved behind unusual forward passes without gradients."""
    forward = phases.take(phases.text("name").equals("forward"))
    forward = forward.take(np.argsort(forward.array("start_ns"), kind="stable"))
    said = forward.text("extra")
    with_grad = said.where('"grad": true' in text for text in said.values)
    if not with_grad.any():
        return start  # nobody said which passes have gradients
    begins, ends = forward.array("start_ns"), forward.array("end_ns")
    gradients = np.append(begins[with_grad], np.iinfo(np.int64).max)
    own = gradients[np.searchsorted(gradients, start, "left")]  # the step's first pass with gradients
    own = np.where(own < end, own, start)
    without = np.flatnonzero(~with_grad)
    first = np.searchsorted(begins[without], start, "left")
    count = np.searchsorted(begins[without], own, "left") - first
    usual = int(np.median(count))
    cut = count - usual if usual else count
    cut = np.where(cut >= (MORE if usual else 1), cut, 0)
    if not cut.any():
        return start
    last = without[np.clip(first + cut - 1, 0, len(without) - 1)]
    moved: Array = np.where(cut > 0, np.minimum(ends[last], own), start)
    return moved


def _after_saving(
    start: Array, end: Array, phases: Table, tables: Mapping[str, Table], process: int
) -> Array:
    """Starts moved to the first phase of a step, where what lies before is mostly torch.save."""
    samples, threads = tables.get("samples"), tables.get("threads")
    if samples is None or threads is None or not len(samples) or not len(phases):
        return start
    saving = in_saving(samples, StackIndex(tables["frames"], tables["stacks"]))
    if not saving.any():
        return start
    mine = np.isin(samples.array("thread"), threads.array("thread")[threads.array("process") == process])
    mine &= ~samples.text("state").equals("waiting")
    time, weight = samples.array("time_ns")[mine], samples.array("weight_ns")[mine]
    order = np.argsort(time, kind="stable")
    sums = [
        np.concatenate(([0], np.cumsum(np.where(part, weight, 0)[order])))
        for part in (saving[mine], np.ones(len(time), np.bool_))
    ]
    begins = np.append(np.sort(phases.array("start_ns")), np.iinfo(np.int64).max)
    first = begins[np.searchsorted(begins, start, "left")]
    first = np.where(first < end, first, start)
    low, high = (np.searchsorted(time[order], edge, "left") for edge in (start, first))
    saved, whole = (total[high] - total[low] for total in sums)
    moved: Array = np.where((whole > 0) & (saved >= MOSTLY * whole), first, start)
    return moved
