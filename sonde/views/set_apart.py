"""Start, imports and shutdown set apart: which part of a recording a view is of, and what is left out of it.

Enters: a recording. Leaves: an `Extent`: from the first step or forward pass to the last one of them, of a program
without steps from the end of its imports to the last moment of its own code. It is the whole where `--whole` asks for
it, and for what other tools recorded. Every view of samples takes it from here, so that their sums agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.account.extent import run_extent
from sonde.analyze.base.intervals import Spans, window
from sonde.analyze.recording.taken_away import main_thread
from sonde.analyze.samples.stack_index import StackIndex
from sonde.analyze.steps.program import step_reports
from sonde.analyze.steps.run_phases import work_extent
from sonde.columns import Array, Table
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions


@dataclass(frozen=True)
class Apart:
    """Time of the kind that a view shows (on the CPU, or off it), all threads together."""

    start_ms: float  # start and imports
    shutdown_ms: float


@dataclass(frozen=True)
class Extent:
    """The part that a view is of. Threads of Sonde have one sample for all their time: they are always in it."""

    span: Spans | None  # None: all of it
    sondes: Array

    def split(self, samples: Table) -> tuple[Array, Array, Array]:
        """Of each row the time in the start, within the extent, in the shutdown.

        A sample stands at its moment, a wait lasts from there on.
        """
        weight = np.maximum(samples.array("weight_ns"), 0)
        none = np.zeros_like(weight)
        if self.span is None:
            return none, weight, none
        time = samples.array("time_ns")
        waits = samples.text("state").equals("waiting")
        begin, inside = int(self.span.starts[0]), self.span.within(time, time + np.where(waits, weight, 1))
        inside = np.where(waits, inside, np.where(inside > 0, weight, 0))
        inside = np.where(np.isin(samples.array("thread"), self.sondes), weight, inside)
        left = weight - inside
        early = np.where(waits, np.clip(begin - time, 0, left), np.where(time < begin, left, 0))
        return early, inside, left - early

    def apart(self, samples: Table) -> Apart:
        """What is left out of these rows."""
        early, _, late = self.split(samples)
        return Apart(float(early.sum()) / 1e6, float(late.sum()) / 1e6)


def extent_of(recording: Recording, options: ShowOptions) -> Extent:
    """What a view of samples is of."""
    marks, samples, threads = (recording.table(name) for name in ("marks", "samples", "threads"))
    sondes = threads.array("thread")[threads.text("kind").equals("sonde")]
    if options.whole or recording.meta.source != "run":
        return Extent(None, sondes)
    reports = step_reports(marks, samples, threads)
    if reports:
        main = max(reports, key=lambda r: (len(r.steps), -r.process))
        found = window(*work_extent(main, marks))
    else:
        index = StackIndex(recording.table("frames"), recording.table("stacks"))
        found = run_extent(samples, threads, main_thread(marks, threads), index)
    return Extent(found if len(found) else None, sondes)  # damaged marks may leave no time between them
