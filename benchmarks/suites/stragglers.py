"""A rank with one planted reason to be late: is it named, with its cause and line? Even jobs: is nobody named?

Usage: python -m benchmarks stragglers [--runs N] [--causes sleep,gc,…] [--steps N]    (default 20 runs of each cause)

Each run is fresh, from `sonde run` to the tables (benchmarks/workloads/straggler.py). Right is: the rank, the kind of
work and the planted line (of a neighbour or a quota: the rank and the kind); for jitter "random", for an even job
nobody. What-if: the step that the replay promises beside the step of the even runs. Exits 1 when a cause is found in
less than nine of ten runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.lib.environment import write
from sonde.analyze.ranks.job import Job
from sonde.store.reader import open_recording

PROGRAM = Path(__file__).parents[1] / "workloads" / "straggler.py"
KINDS = {
    "sleep": ("sleep",),
    "compute": ("arithmetic",),
    "gc": ("gc",),
    "loader": ("loading",),
    "disk": ("io",),
    "neighbour": ("taken",),
    "quota": ("quota",),
}
LINES = {
    "sleep": "time.sleep(LATE_S)  # planted",
    "compute": "torch.mm(weights, weights)  # planted",
    "gc": "gc.collect()  # planted",
    "loader": "batch = next(batches)  # planted",
    "disk": "os.fsync(file.fileno())  # planted",
}
LATE_RANK = 1
ENOUGH = 0.9


@dataclass(frozen=True)
class StragglerRun:
    """One run: what was said, and whether it is right."""

    cause: str
    right: bool
    said: str
    step_ms: float
    without_ms: float | None


def straggler_run(cause: str, steps: int, folder: Path) -> StragglerRun:
    """Record one job and judge what is said of it."""
    target = folder / f"{cause}.sonde"
    command = [sys.executable, "-m", "sonde", "run", "--quiet", "--force", "-o", str(target)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    subprocess.run(
        [*command, str(PROGRAM), cause, str(steps)], env=environment, cwd=folder, check=True, timeout=300
    )
    job = Job(open_recording(target).table)
    late, pattern = job.late, job.lateness.pattern
    mean = float(job.lateness.step_ns.mean()) / 1e6 if len(job.lateness.steps) else float("nan")
    said = late.sentence if late is not None else pattern or "even"
    if cause in ("none", "jitter"):
        right = late is None and (cause == "none" or pattern == "random")
        return StragglerRun(cause, right, said, mean, None)
    if late is None:
        return StragglerRun(cause, False, said, mean, None)
    right = late.rank == LATE_RANK and late.cause.kind in KINDS[cause]
    if cause in LINES:
        source = PROGRAM.read_text().splitlines()
        line = next(i for i, text in enumerate(source, 1) if text.strip() == LINES[cause])
        # A write is I/O at the write as at the fsync below it.
        right = right and abs(late.cause.place.line - line) <= (1 if cause == "disk" else 0)
    without = None if late.without_ns is None else late.without_ns / 1e6
    return StragglerRun(cause, right, said, mean, without)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks stragglers")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--causes", default="none,jitter," + ",".join(KINDS))
    options = parser.parse_args()
    runs: list[StragglerRun] = []
    with tempfile.TemporaryDirectory() as folder:
        for at in range(options.runs):
            for cause in options.causes.split(","):
                runs.append(straggler_run(cause, options.steps, Path(folder)))
                mark = "right" if runs[-1].right else "WRONG"
                print(
                    f"{at + 1:3} {cause:10} {mark} step {runs[-1].step_ms:6.1f} ms  {runs[-1].said}",
                    flush=True,
                )
    even = [r.step_ms for r in runs if r.cause == "none"]
    good = True
    summary = {}
    for cause in dict.fromkeys(r.cause for r in runs):
        mine = [r for r in runs if r.cause == cause]
        share = sum(r.right for r in mine) / len(mine)
        good &= share >= ENOUGH
        promised = [r.without_ms for r in mine if r.without_ms is not None]
        apart = float(np.median(promised)) / float(np.median(even)) - 1 if promised and even else None
        summary[cause] = {"runs": len(mine), "right": sum(r.right for r in mine), "what_if_off": apart}
        beside = "" if apart is None else f", what-if beside even runs {apart:+.0%}"
        print(f"{cause:10} {sum(r.right for r in mine)} of {len(mine)}{beside}")
    write("stragglers", {"summary": summary, "runs": [asdict(r) for r in runs]})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
