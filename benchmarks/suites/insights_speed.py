"""How long insights take on a recording of a million samples and a million operator calls.

Usage: python -m benchmarks insights_speed [--samples N] [--ops N]
The recording is made in memory; timed is `judge` alone, in CPU seconds, best of three.
Target: 3 s (issue "Insights").
"""

from __future__ import annotations

import argparse
import time

from benchmarks.lib.environment import write
from sonde.insights.engine import judge
from sonde.store.recording import Recording
from tests.fixtures.large import large_run


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--ops", type=int, default=1_000_000)
    options = parser.parse_args()
    made = large_run(options.samples, options.ops)
    tables = {t.name: t for t in made.tables()}
    taken = []
    for _ in range(3):
        start = time.process_time()
        report = judge(Recording(made.meta, tables))
        taken.append(time.process_time() - start)
    assert not report.failed, report.failed
    print(f"{options.samples:,} samples, {options.ops:,} calls: {min(taken):.2f} CPU s")
    print(
        f"{len(report.insights)} insights, {len(report.silent)} rules silent, {len(report.not_judged)} not judged"
    )
    print(write("insights_speed", {"samples": options.samples, "ops": options.ops, "cpu_s": taken}))


if __name__ == "__main__":
    main()
