"""`kill -9` at random moments of a run, of finalising and of `sonde recover`.

Usage: python -m benchmarks kills [--moments N] [--parallel N] [--seed N] [--phases run finalise recover]

Each recording must open afterwards and lack at most 0.5 s of CPU time per thread.
Prints a row per phase and every trial that broke the promise, writes benchmarks/results, and exits 1 when one did.
The trials are in tests/guests/kill_trials.py; tests/guests/test_kills.py runs the short form.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.lib.environment import write
from tests.guests import kill_trials
from tests.guests.kill_trials import Trial

PHASES = ("run", "finalise", "recover")
SLACK = 1.15  # moments reach a little beyond the undisturbed length, so that the very end is met as well


@dataclass(frozen=True)
class Row:
    """What all kills of one phase left."""

    phase: str
    moments: int
    before_the_start: int  # nothing had run yet
    after_the_end: int  # the phase was over
    opened: int
    kept_the_promise: int
    lost_cpu_median_s: float
    lost_cpu_worst_s: float
    silent_worst_s: float


def campaign(moments: int, parallel: int, seed: int, phases: Sequence[str] = PHASES) -> list[Trial]:
    """`moments` kills of every phase."""
    with tempfile.TemporaryDirectory(prefix="sonde-kills-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        binary = kill_trials.build(folder)
        spans = [folder / "spans", folder / "prepared"]
        for path in spans:
            path.mkdir()
        finalise_s, recover_s = kill_trials.undisturbed_s(binary, spans[0])
        prepared = kill_trials.prepare_unfinished(binary, spans[1]) if "recover" in phases else folder
        kinds = {
            "run": partial(kill_trials.kill_in_run, binary),
            "finalise": partial(kill_trials.kill_in_finalising, binary, span_s=finalise_s * SLACK),
            "recover": partial(kill_trials.kill_in_recover, prepared, span_s=recover_s * SLACK),
        }
        trials: list[Trial] = []
        with ProcessPoolExecutor(parallel) as pool:
            for phase in phases:
                job = partial(_one, kinds[phase], folder, phase, seed)
                for number, trial in enumerate(pool.map(job, range(moments)), 1):
                    trials.append(trial)
                    if not trial.kept_the_promise:
                        print(f"  BROKEN {trial}", flush=True)
                    if number % 100 == 0:
                        print(f"{phase}: {number} of {moments}", flush=True)
        return trials


def _one(kind: partial[Trial], place: Path, phase: str, seed: int, number: int) -> Trial:
    with tempfile.TemporaryDirectory(dir=place, prefix=f"{phase}-", ignore_cleanup_errors=True) as folder:
        return kind(folder=Path(folder), source=random.Random(f"{seed} {phase} {number}"))


def rows_of(trials: Iterable[Trial]) -> list[Row]:
    rows = []
    by_phase: dict[str, list[Trial]] = {}
    for trial in trials:
        by_phase.setdefault(trial.phase, []).append(trial)
    for phase, those in by_phase.items():
        began = [trial for trial in those if trial.began]
        lost = np.array([trial.lost_cpu_s for trial in began] or [0.0])
        rows.append(
            Row(
                phase=phase,
                moments=len(those),
                before_the_start=len(those) - len(began),
                after_the_end=sum(trial.ended_before for trial in those),
                opened=sum(not trial.problem for trial in those),
                kept_the_promise=sum(trial.kept_the_promise for trial in those),
                lost_cpu_median_s=float(np.median(lost)),
                lost_cpu_worst_s=float(lost.max()),
                silent_worst_s=max((trial.silent_s for trial in began), default=0.0),
            )
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=1000, help="kills per phase")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    options = parser.parse_args()
    trials = campaign(options.moments, options.parallel, options.seed, options.phases)
    broken = [trial for trial in trials if not trial.kept_the_promise]
    rows = rows_of(trials)
    for row in rows:
        print(
            f"{row.phase:<9} {row.moments} kills ({row.before_the_start} before the start, "
            f"{row.after_the_end} after the end): {row.opened} opened; "
            f"lost CPU time: median {row.lost_cpu_median_s:.3f} s, "
            f"worst {row.lost_cpu_worst_s:.3f} s; last sample at most {row.silent_worst_s:.3f} s before"
        )
    result = {
        "moments": options.moments, "parallel": options.parallel, "seed": options.seed,
        "rows": [asdict(row) for row in rows], "broken": [asdict(trial) for trial in broken],
    }  # fmt: skip
    print(write("kills", result))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
