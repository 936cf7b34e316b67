"""How long Sonde itself takes: to import, to start a program, to finish a recording, to answer about a trace.

usage: python -m benchmarks own_speed [--rounds 5] [--seconds 10] [--long SECONDS] [--trace FILE.json.gz] [--only PART…]

Parts:
    import     CPU time of `import sonde`, beside an interpreter that imports nothing, in turns
    start      CPU time that a Python program has used when its first line runs, with Sonde and without, in turns
    summary    from the program's end to the end of `sonde run`: CPU time and wall time; a run of --seconds
    long       the same with the samples and steps of ten minutes at 100 Hz: --long seconds at 1000 Hz
    eight      the same for a program of eight processes
    trace      MB of JSON per CPU second through `sonde show TRACE gpu`, start of the interpreter included
Bytecode is cached, as an installed package has it. Wall times mean something on an idle machine only; the load is in
the result.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import ROOT, write
from benchmarks.suites.reader import find_default

LOOP = ROOT / "benchmarks" / "workloads" / "loop.py"
EIGHT = ROOT / "benchmarks" / "workloads" / "eight_processes.py"
LONG_HZ, LONG_SECONDS = 1000, 60  # 60 s at 1000 Hz: as many samples as ten minutes at 100 Hz


def environment() -> dict[str, str]:
    """Ours, with bytecode cached: a clone's tests often run without."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT)}


def ran(command: list[str], folder: Path | None = None) -> tuple[float, float, str]:
    """CPU seconds of the command and its children, wall seconds, and what it printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.monotonic() - began, done.stdout.decode()


def turns(rounds: int, plain: Callable[[], float], with_sonde: Callable[[], float]) -> dict[str, Any]:
    """Both in turns; milliseconds more, median and all."""
    plain(), with_sonde()  # the first fills caches
    more = []
    for _ in range(rounds):
        base = plain()
        more.append(1e3 * (with_sonde() - base))
    return {"more_ms": round(statistics.median(more), 1), "all_ms": [round(m, 1) for m in more]}


def importing(rounds: int) -> dict[str, Any]:
    python = [sys.executable, "-c"]
    return turns(rounds, lambda: ran([*python, "pass"])[0], lambda: ran([*python, "import sonde"])[0])


def starting(rounds: int) -> dict[str, Any]:
    """What the program itself has used by its own clock, so that what `sonde` uses beside it does not count."""
    program = [sys.executable, "-c", "import time; print(time.process_time())"]
    with tempfile.TemporaryDirectory() as folder:
        record = [
            sys.executable,
            "-m",
            "sonde",
            "run",
            "--quiet",
            "--force",
            "-o",
            f"{folder}/start.sonde",
            "--",
        ]
        return turns(rounds, lambda: float(ran(program)[2]), lambda: float(ran([*record, *program])[2]))


def finishing(program: list[str], *options: str) -> dict[str, Any]:
    """A run, then its logs made into tables and a summary once more: their CPU time apart from the program's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record = [sys.executable, "-m", "sonde", "run", "--keep-raw", "-o", "own.sonde", *options]
        wall = ran([*record, *program], folder)[1]
        from sonde.store.reader import open_recording

        meta = open_recording(folder / "own.sonde").meta
        samples = len(open_recording(folder / "own.sonde").table("samples"))
        again = [ran([sys.executable, "-m", "sonde", "recover", "own.sonde"], folder)[0] for _ in range(2)]
    return {
        "ran_s": round(meta.duration_s, 1),
        "samples": samples,
        "wall_after_s": round(wall - meta.duration_s, 2),  # the start of `sonde` itself included
        "cpu_s": round(min(again), 2),
    }


def reading(trace: Path, rounds: int) -> dict[str, Any]:
    opened = gzip.open if trace.suffix == ".gz" else open
    with opened(trace, "rb") as file:
        size_mb = len(file.read()) / 1e6
    used = [ran([sys.executable, "-m", "sonde", "show", str(trace), "gpu"])[0] for _ in range(rounds + 1)][1:]
    return {
        "trace_mb": round(size_mb, 1),
        "cpu_s": [round(u, 3) for u in used],
        "mb_per_cpu_s": round(size_mb / min(used)),
        "median_mb_per_cpu_s": round(size_mb / statistics.median(used)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--long", type=float, default=LONG_SECONDS)
    parser.add_argument("--trace", type=Path, help="default: one of 82 MB, made as in `reader`")
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    loop = [str(LOOP), "op_dense"]
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "import": lambda: importing(options.rounds),
        "start": lambda: starting(options.rounds),
        "summary": lambda: finishing([*loop, str(options.seconds)]),
        "long": lambda: finishing([*loop, str(options.long)], "--rate", str(LONG_HZ)),
        "eight": lambda: finishing([str(EIGHT), str(options.seconds)]),
        "trace": lambda: reading(options.trace or find_default(), options.rounds),
    }
    result = {}
    for name, part in parts.items():
        if name in (options.only or parts):
            result[name] = part()
            print(name, result[name], flush=True)
    if not options.only:
        print(write("own_speed", result))


if __name__ == "__main__":
    main()
