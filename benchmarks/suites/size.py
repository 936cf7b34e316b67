"""How large a long recording is, and how long the end of the program takes with it.

Usage: python -m benchmarks size [--seconds 600] [--rates 100 1000] [--budget-bytes 100] [--budget-stop-s 1]

All rates run side by side, for ten minutes of a loop that works a third of the time. Printed for each: samples,
bytes per sample in the raw log and in the finished recording (tables and meta, all of them), seconds from
the program's last statement to the end of its log, how long a short run without the agent takes from
there to its end (the interpreter tears down torch), and seconds to finished tables. The budgets are for the
finished recording and for what the agent adds to the end. Exits 1 when one is exceeded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.lib.environment import write
from sonde.ingest.agent.decode import read_raw_log

STEADY = Path(__file__).parents[1] / "workloads" / "steady.py"


@dataclass(frozen=True)
class SizeRow:
    """One rate. Bytes per sample count on-CPU samples; rows of waits come on top of them."""

    rate_hz: int
    samples: int
    waits: int
    raw_bytes_per_sample: float
    tables_bytes_per_sample: float
    tables_bytes: dict[str, int]
    stop_s: float
    stop_without_s: float
    tables_s: float


def plain_stop_s() -> float:
    """From the last statement to the end of the process, without the agent."""
    done = subprocess.run([sys.executable, str(STEADY), "3"], stdout=subprocess.PIPE, text=True, check=True)
    return (time.monotonic_ns() - int(done.stdout.split()[-1])) / 1e9


def measure(rate_hz: int, seconds: float) -> SizeRow:
    with tempfile.TemporaryDirectory(prefix="sonde-size-") as place:
        recording = Path(place) / "steady.sonde"
        options = ["--quiet", "--window", "none", "--keep-raw", "--rate", str(rate_hz), "-o", str(recording)]
        command = [sys.executable, "-m", "sonde", "run", *options, str(STEADY), str(seconds)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        finished_ns = time.monotonic_ns()
        ended_ns = int(done.stdout.split()[-1])
        logs = list((recording / "raw").glob("*.slog"))
        footer_ns = max(log.footer.end_ns for log in map(read_raw_log, logs) if log.footer)
        shown = [sys.executable, "-m", "sonde", "show", str(recording), "quality", "--json"]
        quality = json.loads(subprocess.run(shown, stdout=subprocess.PIPE, text=True, check=True).stdout)
        tables = [
            p for p in recording.rglob("*") if p.is_file() and "raw" not in p.relative_to(recording).parts
        ]
        samples = quality["samples"]
        by_table: dict[str, int] = {}
        for path in tables:
            name = path.relative_to(recording).parts[0]
            by_table[name] = by_table.get(name, 0) + path.stat().st_size
        return SizeRow(
            rate_hz=rate_hz,
            samples=samples,
            waits=quality["waits"],
            raw_bytes_per_sample=sum(p.stat().st_size for p in logs) / samples,
            tables_bytes_per_sample=sum(by_table.values()) / samples,
            tables_bytes=dict(sorted(by_table.items(), key=lambda item: -item[1])),
            stop_s=(footer_ns - ended_ns) / 1e9,
            stop_without_s=plain_stop_s(),
            tables_s=(finished_ns - footer_ns) / 1e9,
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--budget-bytes", type=float, default=100.0)
    parser.add_argument("--budget-stop-s", type=float, default=1.0)
    options = parser.parse_args()
    with ThreadPoolExecutor(len(options.rates)) as pool:
        rows = list(pool.map(lambda rate: measure(rate, options.seconds), options.rates))
    failures = []
    for row in rows:
        print(
            f"{row.rate_hz} Hz: {row.samples} samples, {row.waits} waits; bytes per sample"
            f" {row.raw_bytes_per_sample:.1f} raw, {row.tables_bytes_per_sample:.1f} in tables;"
            f" stop {row.stop_s:.2f} s (without the agent {row.stop_without_s:.2f} s),"
            f" tables {row.tables_s:.1f} s later"
        )
        if row.tables_bytes_per_sample > options.budget_bytes:
            failures.append(f"{row.rate_hz} Hz: over {options.budget_bytes:g} bytes per sample")
        added_s = row.stop_s - row.stop_without_s
        if added_s > options.budget_stop_s:
            failures.append(f"{row.rate_hz} Hz: the agent added {added_s:.2f} s to the program's end")
    result = {"seconds": options.seconds, "failures": failures, "rows": [asdict(row) for row in rows]}
    print(write("size", result))
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
