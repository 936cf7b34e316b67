"""Measure two states of a switch inside one process: blocks of steps in random order, many pairs per launch.

For switches that can flip while a program runs (a backend on or off, the number of threads). What differs from
launch to launch (memory layout, start-up) is the same for both, so far fewer launches are needed. A `FlipMeasure`
serves the engine like a launcher: each launch yields one value per arm and pair.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.analyze.steps.program import step_reports
from sonde.errors import InputError
from sonde.experiment.design.arm import Arm, Measurement
from sonde.experiment.measure.inside import notes
from sonde.experiment.measure.launches import disturbances, judge_disturbance, running
from sonde.experiment.measure.results import printed_results
from sonde.record.frameworks.collect import framework_tables

SETTLING_STEPS = 1  # after a flip: caches and layouts of the other state
WARMUP_STEPS = 10


@dataclass
class FlipMeasure:
    """Callable by `Paired`. `a` and `b` differ in `code` only; the arm's name says which value is wanted."""

    a: Arm
    b: Arm
    block: int = 10  # steps
    seed: int = 0
    directory: Path | None = None
    waiting: dict[str, list[Measurement]] = field(default_factory=dict)
    launches: int = 0

    def __call__(self, arm: Arm, padding: int) -> Measurement:
        if not self.waiting.get(arm.name):
            self.waiting = self._launch(padding)
        if not self.waiting.get(arm.name):
            raise InputError(
                f"{arm.name}: no pair of blocks of {self.block} steps in one run",
                "let the program run more steps, or compare launches instead (--launches)",
            )
        return self.waiting[arm.name].pop(0)

    def _launch(self, padding: int) -> dict[str, list[Measurement]]:
        self.launches += 1
        with tempfile.TemporaryDirectory(prefix="sonde-flips-") as name:
            folder = Path(name) / "0"
            arm = replace(self.a, code="", flip=self._plan())
            before, start = disturbances(), time.monotonic()
            with running(arm, padding, [folder], self.directory) as processes:
                code = processes[0].wait()
            if code:
                tail = (folder / "stderr").read_text(errors="replace").strip().splitlines()[-1:]
                failed = Measurement(0.0, 0, code, "".join(tail))
                return {self.a.name: [failed], self.b.name: [failed]}
            disturbed = judge_disturbance(before, disturbances(), time.monotonic() - start)
            return self._pairs(folder, disturbed)

    def _plan(self) -> dict[str, object]:
        return {
            "a": self.a.code or "pass",
            "b": self.b.code or "pass",
            "block": self.block,
            "warmup": WARMUP_STEPS,
            "seed": self.seed + self.launches,
        }

    def _pairs(self, folder: Path, disturbed: str) -> dict[str, list[Measurement]]:
        turns = [text.split() for kind, text in notes(folder) if kind == "flip"]
        sides = [side for side, _ in turns]
        begins = np.array([int(moment) for _, moment in turns], np.int64)
        reports = step_reports(framework_tables(folder / rawfolder.FOLDER).tables["marks"], gaps=False)
        result = printed_results((folder / "stdout").read_text(errors="replace"))
        found: dict[str, list[Measurement]] = {self.a.name: [], self.b.name: []}
        if not reports or len(begins) < 2:
            return found
        steps = max(reports, key=lambda report: len(report.steps)).steps
        # By its middle: the flip itself happens a moment before or after the step's recorded end.
        middles = np.array([s.start_ns + s.duration_ns // 2 for s in steps], np.int64)
        block = np.searchsorted(begins, middles, side="right") - 1
        values = []
        for number in range(len(begins)):
            mine = [steps[i].duration_ns for i in np.flatnonzero(block == number).tolist()][SETTLING_STEPS:]
            values.append(
                Measurement(float(np.median(mine)) / 1e6, len(mine), 0, result, disturbed) if mine else None
            )
        names = {"A": self.a.name, "B": self.b.name}
        for first in range(0, len(values) - 1, 2):
            pair = values[first], values[first + 1]
            if pair[0] is None or pair[1] is None or min(pair[0].steps, pair[1].steps) < 2:
                continue
            found[names[sides[first]]].append(pair[0])
            found[names[sides[first + 1]]].append(pair[1])
        return found
