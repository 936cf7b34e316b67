"""Recordings of eight kinds: quiet, crowded, several threads, several ranks, GPU, compiled, a log; two make a diff.

Three are recorded here and now, from programs with real threads, profiling windows and compiled regions. The others
need hardware or a moment that no test can count on, and are made up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sonde.analyze.recording.taken_away import stepping_thread
from sonde.ingest import open_any
from sonde.store import build
from sonde.store.recording import Recording
from tests.fixtures.device_run import device_run
from tests.fixtures.synthetic import training_run

DATA = Path(__file__).parents[1] / "data"

TRAINING = """
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(512, 256)
for _ in range(80):
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    optimizer.step()
"""
THREADS = """
import threading, time
import numpy as np
def work(seconds):
    end = time.thread_time() + seconds
    a = np.random.default_rng(0).random((200, 200))
    while time.thread_time() < end:
        a = np.tanh(a @ a)
def rest():
    time.sleep(0.7)
threads = [threading.Thread(target=work, args=(0.5,)) for _ in range(3)] + [threading.Thread(target=rest)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
COMPILED = """
import torch
torch.set_num_threads(1)
@torch.compile(backend="aot_eager")
def f(x, y):
    return (torch.relu(x @ y) * 2 + x).sum()
x, y = torch.randn(256, 256, requires_grad=True), torch.randn(256, 256)
optimizer = torch.optim.SGD([x], lr=0.01)
for _ in range(60):
    optimizer.zero_grad()
    f(x, y).backward()
    optimizer.step()
"""


def recorded(source: str) -> Callable[[Path], Recording]:
    """A program as `sonde run` records it."""

    def make(folder: Path) -> Recording:
        (folder / "program.py").write_text(source)
        words = ["run", "-o", str(folder / "program.sonde"), str(folder / "program.py")]
        done = subprocess.run(
            [sys.executable, "-m", "sonde", *words],
            capture_output=True,
            text=True,
            timeout=400,
            cwd=folder,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return open_any(folder / "program.sonde")

    return make


def crowded(folder: Path) -> Recording:
    """Training beside busy neighbours: three fifths of the stepping thread's time are taken away."""
    quiet = training_run()
    samples = quiet.table("samples")
    thread = stepping_thread(quiet.table("marks"), quiet.table("threads"), 0)
    first, last = int(samples.array("time_ns").min()), int(samples.array("time_ns").max())
    looks = np.arange(first, last, 100_000_000)
    away = build.table(
        "samples",
        len(looks),
        time_ns=looks,
        thread=np.full(len(looks), thread),
        stack=np.zeros(len(looks), np.int32),
        state=["waiting"] * len(looks),
        reason=["preempted"] * len(looks),
        weight_ns=np.full(len(looks), 60_000_000),
    )
    tables = {table.name: table for table in quiet.tables()}
    tables["samples"] = build.concat("samples", [samples, away])
    return Recording(quiet.meta, tables)


def gpu_trace(folder: Path) -> Recording:
    """A Kineto file: operators that launch kernels, copies, and work that was queued before it began."""
    work = (("aten::mm", "sgemm_128"), ("aten::add", "elementwise_kernel"), ("aten::copy_", "Memcpy HtoD"))
    events: list[dict[str, object]] = []

    def add(kind: str, name: str, ts: int, dur: int, where: tuple[int, int] = (1, 1), **args: int) -> None:
        row = {"ph": "X", "cat": kind, "name": name, "pid": where[0], "tid": where[1], "ts": ts, "dur": dur}
        events.append({**row, "args": args})

    for i in range(12):
        add("user_annotation", f"ProfilerStep#{i}", 1000 * i + 1000, 990)
        for j, (name, kernel) in enumerate(work):
            ts, number = 1000 * i + 1020 + 200 * j, 100 + 3 * i + j
            add("cpu_op", name, ts, 100)
            add("cuda_runtime", "cudaLaunchKernel", ts + 10, 5, correlation=number)
            kind = "gpu_memcpy" if kernel.startswith("Memcpy") else "kernel"
            add(kind, kernel, ts + 30, 90 + 7 * j, (0, 7), correlation=number, device=0, stream=7)
    path = folder / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return open_any(path)


RECORDINGS: dict[str, Callable[[Path], Recording]] = {
    "quiet": recorded(TRAINING),
    "made_up": lambda folder: training_run(),
    "crowded": crowded,
    "threads": recorded(THREADS),
    "ranks": lambda folder: device_run(),
    "gpu": gpu_trace,
    "compiled": recorded(COMPILED),
    "log": lambda folder: open_any(DATA / "onednn" / "torch_2.13_training.log.gz"),
}
