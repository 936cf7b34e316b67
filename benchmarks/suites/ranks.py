"""Time and memory per rank with 8, 64 and 512 ranks, on each engine.

    python -m benchmarks ranks [--engines local ray] [--ranks 8 64 512]

Rank r is a copy of rank r mod 8 of tests/data/traces/multirank/megatron_tp8 under its own number. CPU seconds and peak
memory are those of the processes that did the per-rank stage; the reduce step is timed apart. Results of all engines
must be equal. Copying and measuring each have a process of their own: local workers are forks, and a fork's peak begins
with what its parent holds.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import MEGATRON, write
from benchmarks.lib.everything import Measured, everything
from benchmarks.lib.replicate import multiply_ranks
from sonde.analyze.ranks.comparison import gpu_summary
from sonde.ingest.ranks import engines
from sonde.rows import plain


def measure(files: list[Path], engine: str) -> tuple[dict[str, Any], str]:
    wall = time.perf_counter()
    got: list[Measured] = [
        m for m in engines.run(everything, files, engine, workers=2) if isinstance(m, Measured)
    ]
    if len(got) != len(files):
        raise SystemExit(f"{engine}: {len(files) - len(got)} of {len(files)} ranks failed")
    wall = time.perf_counter() - wall
    cpu = time.process_time()
    found = gpu_summary([m.summary for m in got])
    cpu = time.process_time() - cpu
    row = {
        "engine": engine,
        "ranks": len(files),
        "wall_s": round(wall, 2),
        "cpu_s_per_rank": round(statistics.mean(m.read_cpu_s + m.analyse_cpu_s for m in got), 4),
        "worker_max_rss_mb": round(max(m.max_rss_mb for m in got)),
        "summary_kb_per_rank": round(len(pickle.dumps([m.summary for m in got])) / len(got) / 1024, 1),
        "reduce_cpu_s": round(cpu, 3),
        "driver_max_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "stragglers": len(found.stragglers),
    }
    return row, json.dumps(plain(found.answer()), sort_keys=True)


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result, from a process that has done nothing else."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", nargs="+", default=["local"], choices=engines.ENGINES)
    parser.add_argument("--ranks", nargs="+", type=int, default=[8, 64, 512])
    options = parser.parse_args()
    rows = []
    for count in options.ranks:
        with tempfile.TemporaryDirectory() as name:
            files = alone(multiply_ranks, MEGATRON, Path(name), count)
            answers = set()
            for engine in options.engines:
                row, answer = alone(measure, files, engine)
                rows.append(row)
                answers.add(answer)
                print(json.dumps(row), flush=True)
            if len(answers) != 1:
                raise SystemExit(f"engines disagree on {count} ranks")
    print(write("ranks", {"rows": rows}))


if __name__ == "__main__":
    main()
