"""A known answer: 30 to 70 between two functions, in Python and C++, on one and several threads.

Usage: python -m benchmarks split [--runs N] [--seconds S] [--rate HZ]    (default 20 runs of each kind)

Each run goes the whole way from `sonde run` to the tables. The program itself says what share its thread
clocks gave to the larger function; the share among samples must lie inside the binomial interval of
their number at the 99.9 % level. Exits 1 when any run does not. tests/lifecycle/test_split.py runs
the short form.
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
import numpy.typing as npt

from benchmarks.lib.environment import write
from sonde.columns import Table
from sonde.record.outside.job import record
from sonde.record.outside.options import RunOptions
from sonde.store.recording import Recording

PROGRAMS = Path(__file__).parents[2] / "tests" / "lifecycle" / "programs"
LEVEL = 0.999
SEVERAL = 3
Kind = tuple[str, int]  # language, threads
KINDS: tuple[Kind, ...] = (("python", 1), ("python", SEVERAL), ("c++", 1), ("c++", SEVERAL))


@dataclass(frozen=True)
class SplitRun:
    """One run: `hits` of `samples` lay in the larger function; by the clock it was `truth`."""

    language: str
    threads: int
    truth: float
    hits: int
    samples: int

    @property
    def share(self) -> float:
        return self.hits / self.samples

    @property
    def inside(self) -> bool:
        low, high = binomial_interval(self.samples, self.truth, LEVEL)
        return low <= self.hits <= high


def binomial_interval(count: int, probability: float, level: float) -> tuple[int, int]:
    """The fewest and most hits that are not in the outer (1 - level) / 2 on either side; exact."""
    k = np.arange(count + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    log_choose = log_factorial[count] - log_factorial[k] - log_factorial[count - k]
    below = np.cumsum(np.exp(log_choose + k * np.log(probability) + (count - k) * np.log1p(-probability)))
    tail = (1 - level) / 2
    return int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1 - tail))


def build(folder: Path) -> Path:
    """The C++ program."""
    binary = folder / "split"
    source = ["-x", "c++", PROGRAMS / "split.c"]
    subprocess.run(["g++", "-O1", "-g", "-pthread", "-o", binary, *source], check=True)
    return binary


def split_run(kind: Kind, binary: Path, folder: Path, seconds: float, rate_hz: float) -> SplitRun:
    """Record one run into `folder` and count."""
    language, threads = kind
    program = [sys.executable, str(PROGRAMS / "split.py")] if language == "python" else [str(binary)]
    command = [*program, str(seconds / threads), str(threads)]
    with _stdout_to(folder.with_suffix(".txt")) as printed:
        outcome = record(command, folder, RunOptions(rate_hz=rate_hz, window="none"))
    truth = float(printed.read_text())
    if outcome.exit_code:
        raise SystemExit(f"{' '.join(command)} ended with {outcome.exit_code}")
    hits, samples = count_under(outcome.recording, "seventy", ("seventy", "thirty"))
    return SplitRun(language, threads, truth, hits, samples)


class _stdout_to:
    """The program inherits our standard output: point it to a file meanwhile."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        sys.stdout.flush()
        self._kept = os.dup(1)
        target = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(target, 1)
        os.close(target)
        return self._path

    def __exit__(self, *_: object) -> None:
        os.dup2(self._kept, 1)
        os.close(self._kept)


def count_under(recording: Recording, function: str, among: tuple[str, ...]) -> tuple[int, int]:
    """Samples whose stack passes through `function`, and through any of `among`."""
    frames, stacks, samples = (recording.table(name) for name in ("frames", "stacks", "samples"))
    on_cpu = samples.text("state").equals("running")
    stack = samples.array("stack")[on_cpu]
    inside = {name: _passes(frames, stacks, name)[stack] for name in {function, *among}}
    return int(inside[function].sum()), int(np.logical_or.reduce([inside[name] for name in among]).sum())


def _passes(frames: Table, stacks: Table, function: str) -> npt.NDArray[np.bool_]:
    """Per stack (-1: none at all): is the function among its frames? Parents come before children."""
    names = [str(name or "").partition("(")[0] for name in frames.text("name").tolist()]
    own = np.array([name == function for name in names], np.bool_)[stacks.array("frame")]
    held = np.append(own, False)
    for row, parent in enumerate(stacks.array("parent").tolist()):
        held[row] |= held[parent]
    return held


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="CPU time of each run, all threads together"
    )
    parser.add_argument("--rate", type=float, default=1000.0)
    options = parser.parse_args()
    runs: list[SplitRun] = []
    with tempfile.TemporaryDirectory(prefix="sonde-split-") as place:
        binary = build(Path(place))
        for i in range(options.runs):
            for kind in KINDS:  # interleaved: a drifting machine meets all kinds
                folder = Path(place) / f"{i}-{kind[0]}-{kind[1]}.sonde"
                runs.append(split_run(kind, binary, folder, options.seconds, options.rate))
    outside = [one for one in runs if not one.inside]
    for kind in KINDS:
        own = [one for one in runs if (one.language, one.threads) == kind]
        off = max(abs(one.share - one.truth) for one in own)
        print(
            f"{kind[0]:7} {kind[1]} threads: {sum(one.inside for one in own)} of {len(own)} inside;"
            f" {min(one.samples for one in own)} samples at least, {off:.4f} off at most"
        )
    rows = [{**asdict(one), "share": one.share, "inside": one.inside} for one in runs]
    print(write("split", {"level": LEVEL, "rate_hz": options.rate, "seconds": options.seconds, "rows": rows}))
    for one in outside:
        print(f"FAILED: {one}", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
