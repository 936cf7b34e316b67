"""All analyses of one rank, as a stage that engines can run: what the benchmarks time."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path

from sonde.analyze.achieved import achieved
from sonde.analyze.critical_path import critical_path
from sonde.analyze.device_by_op import call_times, device_by, module_key
from sonde.analyze.device_events import device_work
from sonde.analyze.device_memory import device_memory
from sonde.analyze.kernel_table import kernel_origins, kernel_table
from sonde.analyze.launches import queue_depths
from sonde.analyze.rank_summary import RankSummary, summaries
from sonde.importers import kineto


@dataclass(frozen=True)
class Measured:
    """One rank's summary and what it cost the process that made it."""

    summary: RankSummary
    read_cpu_s: float
    analyse_cpu_s: float
    rows: int
    max_rss_mb: float


def everything(path: Path) -> Measured:
    """Read one file and run every analysis on it."""
    begin = time.process_time()
    recording = kineto.read(path)
    read = time.process_time()
    kernels, launches, ops, memory = (recording.table(n) for n in ("kernels", "launches", "ops", "memory"))
    (summary,) = summaries(recording.table, path.name)
    work = device_work(kernels, launches)
    queue_depths(work)
    kernel_table(work, kernels)
    kernel_origins(work, ops)
    times = call_times(work, ops)
    device_by(work, ops, ops.text("name"), times)
    device_by(work, ops, module_key(ops), times)
    device_memory(memory, ops)
    critical_path(work, launches, summary.start_ns, summary.end_ns)
    achieved(work, ops, "NVIDIA A100-SXM4-80GB", summary.end_ns - summary.start_ns, times)
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(summary, read - begin, done - read, sum(map(len, (kernels, launches, ops))), peak)
