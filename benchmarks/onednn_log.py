"""How fast verbose logs are read: a million lines, with and without timestamps, beside a plain csv read.

python benchmarks/onednn_log.py [--lines N]   prints CPU seconds, lines per second and peak memory.
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

SOURCE = Path(__file__).resolve().parents[1] / "tests" / "data" / "onednn" / "torch_2.13_training.log.gz"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    options = parser.parse_args()
    for stamped in (False, True):
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(options.lines, stamped))
        process.start()
        process.join()


def measure(lines: int, stamped: bool) -> None:
    from sonde.importers import onednn_log

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
        f"memory +{(peak_kib - before_kib) / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
