"""What the agent adds to a program's memory: for the process, and for each thread.

Usage: python -m benchmarks memory [--rounds N] [--rate HZ]

A program with 1, 100 and 1000 threads, all alive and all sampled, reads its own resident and virtual size, with the
agent and without. Medians over rounds. Exits 1 above the budgets that docs/promises.md states.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.lib.environment import write
from tests.guests.roster import PROGRAMS
from tests.lifecycle.recorded import run

COUNTS = (1, 100, 1000)
PROCESS_BUDGET_KIB = 32 << 10  # of resident memory, with one thread
THREAD_BUDGET_KIB = 64  # of resident memory, with a thousand


def growth_kib(binary: Path, threads: int, rounds: int, rate_hz: int) -> tuple[float, float]:
    """Resident and virtual KiB that the agent adds."""
    added: list[list[int]] = [[], []]
    for _ in range(rounds):
        sizes = []
        for agent in (False, True):
            result = run([binary, str(threads)], rate_hz=rate_hz, agent=agent)
            if result.code:
                raise SystemExit(f"{threads} threads: exit {result.code}: {result.errors}")
            sizes.append([int(word) for word in result.output.split()])
        for kind in (0, 1):
            added[kind].append(sizes[1][kind] - sizes[0][kind])
    return statistics.median(added[0]), statistics.median(added[1])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-memory-") as place:
        binary = Path(place) / "threads_alive"
        subprocess.run(["gcc", "-O1", "-pthread", "-o", binary, PROGRAMS / "threads_alive.c"], check=True)
        added = {count: growth_kib(binary, count, options.rounds, options.rate) for count in COUNTS}
    for count, (resident, virtual) in added.items():
        print(f"{count:>5} threads: {resident:>8.0f} KiB resident, {virtual:>8.0f} KiB virtual")
    fewest, most = COUNTS[0], COUNTS[-1]
    per_thread = [(added[most][kind] - added[fewest][kind]) / (most - fewest) for kind in (0, 1)]
    print(f"per thread:    {per_thread[0]:>8.1f} KiB resident, {per_thread[1]:>8.1f} KiB virtual")
    rows = [{"threads": n, "resident_kib": r, "virtual_kib": v} for n, (r, v) in added.items()]
    result = {
        "rate_hz": options.rate, "rows": rows, "resident_kib_per_thread": per_thread[0],
        "virtual_kib_per_thread": per_thread[1],
    }  # fmt: skip
    print(write("memory", result))
    return 1 if added[fewest][0] > PROCESS_BUDGET_KIB or per_thread[0] > THREAD_BUDGET_KIB else 0


if __name__ == "__main__":
    sys.exit(main())
