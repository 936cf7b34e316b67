"""A made-up training loop: every step spends given times on given stacks, in given phases."""

from __future__ import annotations

from typing import Any, NamedTuple

from sonde.columns import Table
from sonde.store import build
from sonde.store.recording import Recording
from tests.fixtures.synthetic import training_run
from tests.fixtures.walk import Stacks

MS = 1_000_000
FILE = "/home/u/train.py"
MODULE_PY = "/x/site-packages/torch/nn/modules/module.py"
LOOP = ("native", "at::native::AVX2::vectorized_loop", {"library": "libtorch_cpu.so"})
GEMM = ("native", "mkl_blas_avx512_sgemm_kernel_0", {"library": "libtorch_cpu.so"})
Frame = tuple[str, str, dict[str, Any]]


class Spent(NamedTuple):
    """Time of every step at one stack (below the loop's line) in one phase."""

    ms: int
    line: int  # of the loop
    frames: tuple[Frame, ...] = ()
    phase: str = ""
    state: str = "running"
    reason: str | None = None
    grows: bool = False  # from 0 in the first step to twice the time in the last


def line(number: int, function: str = "helper", file: str = FILE) -> Frame:
    return ("python", function, {"file": file, "line": number})


def op(name: str) -> Frame:
    return ("op", name, {})


MODEL = Spent(6, 20, (op("aten::addmm"), GEMM), "forward")
BACKWARD = Spent(10, 21, (op("aten::mm"), GEMM), "backward")
UPDATE = Spent(1, 22, (op("aten::add_"), LOOP), "optimizer")


def loop(*spent: Spent, steps: int = 60, marks: bool = True, more: Table | None = None) -> Recording:
    """A recording of so many equal steps of one thread, sampled every millisecond."""
    stacks, now = Stacks(), 100_000 * MS
    rows: list[tuple[int, int, str, str | None, int]] = []
    found: list[tuple[str, str, int, int]] = []
    for step in range(steps):
        begin = now
        for one in spent:
            node = stacks.push(-1, "python", "train", file=FILE, line=one.line)
            for layer, name, extra in one.frames:
                node = stacks.push(node, layer, name, **extra)
            ms = round(2 * one.ms * step / (steps - 1)) if one.grows else one.ms
            start = now
            if one.state == "waiting":
                rows.append((now, node, one.state, one.reason, ms * MS))
                now += ms * MS
            else:
                for _ in range(ms):
                    rows.append((now + MS // 2, node, one.state, None, MS))
                    now += MS
            if one.phase:
                found.append(("phase", one.phase, start, now))
        found.append(("step", "step", begin, now))
    frames, tree = stacks.tables()
    tables = {
        "frames": frames,
        "stacks": tree,
        "samples": build.table(
            "samples",
            time_ns=[r[0] for r in rows],
            thread=[0] * len(rows),
            stack=[r[1] for r in rows],
            state=[r[2] for r in rows],
            reason=[r[3] for r in rows],
            weight_ns=[r[4] for r in rows],
        ),
        "threads": build.table(
            "threads", thread=[0], process=[0], kind=["main"], start_ns=[100_000 * MS], end_ns=[now]
        ),
    }
    if marks:
        table = build.table(
            "marks",
            mark=list(range(len(found))),
            process=[0] * len(found),
            thread=[0] * len(found),
            kind=[f[0] for f in found],
            name=[f[1] for f in found],
            number=[n if f[0] == "step" else -1 for n, f in enumerate(found)],
            start_ns=[f[2] for f in found],
            end_ns=[f[3] for f in found],
        )
        tables["marks"] = table if more is None else build.concat("marks", [table, more])
    return Recording(training_run(steps=4, sample_hz=50).meta, tables)
