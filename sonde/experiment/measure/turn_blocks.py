"""From the marks of two programs that took turns to the ratio of their steps.

A block is what one program did between two of its pauses. Each block is compared with the two of the other program
around it, so that a machine that drifts evenly favours neither; the median over blocks ignores the uneven.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.analyze.steps.program import StepReport, step_reports
from sonde.columns import Array, Table
from sonde.experiment.measure.traits import draws_batches, threads_of
from sonde.record.frameworks.collect import framework_tables

FEWEST_BLOCKS = 5  # of both programs together
FEWEST_STEPS = 2  # in a block, without the one in which it stood


@dataclass(frozen=True)
class Blocks:
    """The steady steps of one program, block by block. Block 0 is what came before the first pause."""

    median_ns: dict[int, float]
    steady: int  # steps in them
    loads: bool = False
    threads: int = -1  # that torch computed with

    @staticmethod
    def of(folder: Path) -> Blocks:
        marks = framework_tables(folder / rawfolder.FOLDER).tables["marks"]
        pauses = marks.take(marks.text("kind").equals("pause"))
        order = np.argsort(pauses.array("start_ns"))
        start, end = pauses.array("start_ns")[order], pauses.array("end_ns")[order]
        loads, threads = draws_batches(marks), threads_of(marks)
        reports = step_reports(_without_pauses(marks, start, end), gaps=False)
        if not reports or not len(start):
            return Blocks({}, 0, loads, threads)
        # Where the pauses were, now that they have no length.
        at = start - np.concatenate([[0], np.cumsum(end - start)[:-1]])
        main = max(reports, key=lambda report: len(report.steps))
        return replace(_blocks(main, at), loads=loads, threads=threads)


def _without_pauses(marks: Table, start: Array, end: Array) -> Table:
    """The same program as if it had never stood still."""
    before = np.concatenate([[0], np.cumsum(end - start)])

    def moved(times: Array) -> Array:
        row = np.searchsorted(start, times, "right")  # pauses that have begun
        last = np.maximum(row - 1, 0)
        standing = (row > 0) & (times < end[last]) if len(end) else np.zeros(len(times), np.bool_)
        kept = np.where(standing, start[last] if len(start) else 0, times)
        return np.asarray(kept - np.where(standing, before[last], before[row]))

    return marks.with_columns(start_ns=moved(marks.array("start_ns")), end_ns=moved(marks.array("end_ns")))


def _blocks(report: StepReport, at: Array) -> Blocks:
    steady = report.steady
    starts = np.array([s.start_ns for s in steady], np.int64)
    ends = starts + np.array([s.duration_ns for s in steady], np.int64)
    block = np.searchsorted(at, starts, "left")
    # A step in which it stood began in one block and ended in the next, with cold caches.
    whole = block == np.searchsorted(at, ends, "left")
    durations = (ends - starts).astype(np.float64)
    found = {}
    for number in np.unique(block[whole]).tolist():
        mine = durations[whole & (block == number)]
        if number > 0 and len(mine) >= FEWEST_STEPS:
            found[int(number)] = float(np.median(mine))
    return Blocks(found, int(whole.sum()))


def ratio_of(first: Blocks, second: Blocks) -> tuple[float, float] | None:
    """Median step in ms of both, so that their ratio is the median over blocks against their neighbours."""
    values = [
        (turn, number, np.log(blocks.median_ns[number]))
        for number in sorted(set(first.median_ns) | set(second.median_ns))
        for turn, blocks in ((0, first), (1, second))
        if number in blocks.median_ns
    ]
    differences = []
    for left, middle, right in zip(values, values[1:], values[2:], strict=False):
        place = [2 * number + turn for turn, number, _ in (left, middle, right)]
        if place[1] - place[0] == 1 and place[2] - place[1] == 1:  # true neighbours on both sides
            sign = 1.0 if middle[0] == 1 else -1.0
            differences.append(sign * (middle[2] - (left[2] + right[2]) / 2))
    if len(differences) < FEWEST_BLOCKS - 2:
        return None
    log_ratio = float(np.median(differences))
    level = float(np.median([value for _, _, value in values]))
    return float(np.exp(level - log_ratio / 2)) / 1e6, float(np.exp(level + log_ratio / 2)) / 1e6
