"""Attach and leave, again and again: does the program notice, and how long do its threads stand still?

Usage: python -m benchmarks attach [--cycles N] [--seconds S] [--kinds train loader churn jemalloc server jax_train]
       python -m benchmarks attach --quality [--seconds S]     one recording of each example instead

Each program must end with its own exit code, and have computed what it computes alone in as many steps; no thread and
no socket of Sonde's may be left. With --quality: share of samples in the loop that have the user's line, of workers'
samples that have an owner, and the samples' weight beside the kernel's clock. Exits 1 when a program was harmed.
The cycles are in tests/live/attach_cycles.py; tests/live/test_attach.py runs the short form.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.environment import ROOT, write
from sonde.columns import Array, Table
from sonde.record.outside.attach.visit import cpu_ns
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from tests.live.attach_cycles import KINDS, Outcome, campaign, is_possible

READY_CPU_NS = 12_000_000_000
EXAMPLES = {"convnet": "--steps 100000", "gpt": "--steps 100000", "mlp": "--steps 10000000"}


@dataclass(frozen=True)
class Quality:
    """One recording of a program that already ran. Shares of CPU time."""

    example: str
    seconds: float
    samples: int
    with_line: float  # of the main thread's: a line of the script
    owned: float  # of pool workers': their owner is known
    weight: float  # of all samples, beside the process's CPU clock
    steps: int


def quality(example: str, seconds: float) -> Quality:
    """Start the example, attach, and read the recording."""
    script = ROOT / "examples" / f"{example}.py"
    with tempfile.TemporaryDirectory(prefix="sonde-attach-") as name:
        recording = Path(name) / "now.sonde"
        with subprocess.Popen(
            [sys.executable, script, *EXAMPLES[example].split()], stdout=subprocess.DEVNULL
        ) as process:
            try:
                _wait_for_threads(process.pid)
                words = ["-d", f"{seconds:g}", "-o", str(recording), "--quiet"]
                subprocess.run(
                    [sys.executable, "-m", "sonde", "attach", str(process.pid), *words], check=True
                )
                assert process.poll() is None
            finally:
                process.kill()
        return _measure(example, seconds, open_recording(recording))


def _wait_for_threads(pid: int) -> None:
    """Until the example trains: it has used more CPU time than its imports need."""
    while cpu_ns(pid) < READY_CPU_NS:
        time.sleep(0.1)


def _measure(example: str, seconds: float, opened: Recording) -> Quality:
    frames, stacks, samples = (opened.table(name) for name in ("frames", "stacks", "samples"))
    threads, marks = opened.table("threads"), opened.table("marks")
    file = np.array([str(path or "").endswith(f"/{example}.py") for path in texts(frames, "file")])
    user = marked_by_parents(stacks.array("parent"), file[stacks.array("frame")])
    kind = dict(zip(threads.array("thread").tolist(), texts(threads, "kind"), strict=True))
    of = np.array([kind.get(one, "") for one in samples.array("thread").tolist()])
    weight, stack = samples.array("weight_ns").astype(float), samples.array("stack")
    on_cpu = np.array([state != "waiting" for state in texts(samples, "state")])
    taken = on_cpu & (stack >= 0) & np.array([walk != "residual" for walk in texts(samples, "walk")])
    main, worker = taken & (of == "main"), taken & (of == "omp")
    used = opened.meta.details["rusage"]
    return Quality(
        example=example,
        seconds=seconds,
        samples=int(taken.sum()),
        with_line=share(weight, main & user[np.maximum(stack, 0)], main),
        owned=share(weight, worker & (samples.array("owner") >= 0), worker),
        weight=float(weight[on_cpu].sum() / max(used["user_ns"] + used["system_ns"], 1)),
        steps=sum(name == "step" for name in texts(marks, "kind")),
    )


def texts(table: Table, name: str) -> list[str | None]:
    return table.text(name).tolist()


def share(weight: Array, part: Array, whole: Array) -> float:
    return float(weight[part].sum() / max(weight[whole].sum(), 1.0))


def marked_by_parents(parent: Array, own: Array) -> Array:
    """Of each node: is it marked, or one above it? Parents come first."""
    marked = own.copy()
    for row in range(len(parent)):
        if parent[row] >= 0:
            marked[row] |= marked[parent[row]]
    return marked


def line_of(outcome: Outcome) -> str:
    stops = np.array(outcome.stop_ms or [0.0])
    verdict = "unharmed" if outcome.is_unharmed else f"HARMED: {outcome}"
    return (
        f"{outcome.kind:<10} {outcome.cycles} cycles, {len(outcome.failed)} refused, longest stop per cycle: median "
        f"{np.median(stops):.2f} ms, 99th percentile {np.quantile(stops, 0.99):.2f} ms; {verdict}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=3600.0, help="at most, for each program")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--quality", action="store_true")
    options = parser.parse_args()
    if options.quality:
        found = [quality(example, min(options.seconds, 20.0)) for example in EXAMPLES]
        for one in found:
            print(one)
        print(write("attach", {"quality": [asdict(one) for one in found]}))
        return 0
    outcomes: list[dict[str, Any]] = []
    unharmed = True
    for kind in options.kinds:
        if not is_possible(kind):
            print(f"{kind:<10} left out: what it needs is not installed")
            continue
        before = os.getloadavg()[0]
        outcome = campaign(kind, options.cycles, options.seconds)
        stops = np.quantile(outcome.stop_ms or [0.0], (0.5, 0.99)).tolist()
        load = {"before": before, "after": os.getloadavg()[0]}
        outcomes.append(
            {**asdict(outcome), "stop_median_ms": stops[0], "stop_p99_ms": stops[1], "load": load}
        )
        unharmed &= outcome.is_unharmed
        print(line_of(outcome), f"load {before:.1f} to {load['after']:.1f}", flush=True)
        written = write("attach", {"outcomes": outcomes})  # hours may be lost otherwise
    print(written if outcomes else "nothing was run")
    return 0 if unharmed else 1


if __name__ == "__main__":
    sys.exit(main())
