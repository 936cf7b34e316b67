"""How fast verbose logs are read: a million lines, with and without timestamps, beside a plain csv read.

python -m benchmarks onednn_log [--lines N]   prints CPU seconds, lines per second and peak memory, and keeps
them in benchmarks/results.
Each variant runs in a process of its own, so that peak memory is its own.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import multiprocessing
import re
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import write

SOURCE = Path(__file__).resolve().parents[2] / "tests" / "data" / "onednn" / "torch_2.13_training.log.gz"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    options = parser.parse_args()
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        rows = pool.starmap(measure, [(options.lines, False), (options.lines, True)], chunksize=1)
    print(write("onednn_log", {"lines": options.lines, "rows": rows}))


def measure(lines: int, stamped: bool) -> dict[str, Any]:
    """Read a log of so many lines; with the peak memory of this process."""
    from sonde.ingest.verbose import onednn_log

    text = gzip.decompress(SOURCE.read_bytes()).decode()
    rows = [line + "\n" for line in text.splitlines() if "verbose" in line.lower()]
    if not stamped:
        rows = [re.sub(r"^(onednn_verbose,v1,)\d+\.\d+,", r"\1", row) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        with path.open("w") as file:
            for start in range(0, lines, len(rows)):
                file.writelines(rows[: lines - start])
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        recording = onednn_log.read(path)
        read_s = time.process_time() - began
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        with path.open() as file:
            count = sum(1 for _ in csv.reader(file))
        csv_s = time.process_time() - began
    name = "with timestamps" if stamped else "without timestamps"
    print(
        f"{name}: {count} lines, {len(recording.table('primitives'))} rows in {read_s:.2f} s CPU "
        f"({count / read_s / 1e6:.2f} M lines/s), csv.reader alone {csv_s:.2f} s, "
        f"memory +{(peak_kib - before_kib) / 1024:.0f} MiB",
        flush=True,
    )
    return {
        "stamped": stamped,
        "primitives": len(recording.table("primitives")),
        "read_cpu_s": round(read_s, 3),
        "csv_cpu_s": round(csv_s, 3),
        "lines_per_s": round(count / read_s),
        "memory_added_bytes": (peak_kib - before_kib) * 1024,
    }


if __name__ == "__main__":
    main()
