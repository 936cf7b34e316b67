"""All analyses of one rank, as a stage that engines can run: what the benchmarks time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from sonde.analyze.device.achieved import device_name_in
from sonde.analyze.device.by_op import call_times, device_by, module_key
from sonde.analyze.device.events import device_work
from sonde.analyze.device.kernel_table import kernel_origins
from sonde.analyze.device.memory import device_memory
from sonde.analyze.ranks.summary import RankSummary, summaries
from sonde.ingest.kineto import reader as kineto


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
    kernels, launches, ops = (recording.table(n) for n in ("kernels", "launches", "ops"))
    memory = recording.table("memory")
    work = device_work(kernels, launches)
    times = call_times(work, ops)
    (summary,) = summaries(recording.table, path.name, device_name_in(recording.meta.details))
    kernel_origins(work, ops)
    device_by(work, ops, ops.text("name"), times)
    device_by(work, ops, module_key(ops), times)
    device_memory(memory, ops)
    done = time.process_time()
    return Measured(summary, read - begin, done - read, sum(map(len, (kernels, launches, ops))), peak_mb())


def peak_mb() -> float:
    """Most memory that this process held; getrusage would count what the process that started it held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
