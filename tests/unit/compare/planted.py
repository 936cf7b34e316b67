"""Made-up recordings of a small training program, with changes planted in them.

A program is a list of `Work`: what one step does, in order. Samples (one per millisecond of CPU time) and
operator calls follow from it, with noise between steps, so that the true difference of
two programs is known by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording

ROOT = "/project"


@dataclass(frozen=True)
class Work:
    """`ms` of an operator (or of plain Python when `op` is empty) on a line of a function."""

    op: str
    ms: float
    line: int
    function: str = "step"
    shape: str = "[[8, 8], [8, 8]]"
    bytes: int = 0


def program(*extra: Work) -> list[Work]:
    return [
        Work("", 2.0, 11, "load_batch"),
        Work("aten::mm", 6.0, 21, bytes=4096),
        Work("aten::add", 1.0, 22),
        Work("aten::relu", 2.0, 23),
        *extra,
    ]


def record(
    works: list[Work],
    seed: int = 0,
    steps: int = 60,
    noise: float = 0.03,
    run_noise: float = 0.01,
    ops: bool = True,
    **meta: Any,
) -> Recording:
    rng = np.random.default_rng(seed)
    frames: dict[tuple[Any, ...], int] = {}
    nodes: dict[tuple[int, int], int] = {}

    def push(parent: int, *frame: Any) -> int:
        number = frames.setdefault(frame, len(frames))
        return nodes.setdefault((parent, number), len(nodes))

    root = push(-1, "python", "<module>", f"{ROOT}/train.py", 40)
    samples: list[tuple[int, int, int]] = []
    calls: list[tuple[Any, ...]] = []
    marks, memory = [], []
    now = 1_000_000_000
    run = rng.lognormal(0, run_noise)  # a run as a whole is a little faster or slower
    for number in range(steps):
        start = now
        for work in works:
            length = int(work.ms * 1e6 * run * rng.lognormal(0, noise))
            stack = push(root, "python", work.function, f"{ROOT}/train.py", work.line)
            if work.op:
                stack = push(stack, "op", work.op, None, -1)
                calls.append((now, now + length, work.op, work.shape, work.line))
                if work.bytes:
                    memory.append((now + 1, work.bytes, len(calls) - 1))
            samples += [(t, stack, 1_000_000) for t in range(now + 500_000, now + length, 1_000_000)]
            now += length
        marks.append((number, start, now))
        now += 1000
    f, n = list(frames), list(nodes)
    depth: list[int] = []
    for parent, _ in n:
        depth.append(1 if parent < 0 else depth[parent] + 1)
    tables = [
        build.table("processes", process=[0], parent=[-1], engine=["perf+kernel"], start_ns=[0], end_ns=[now]),
        build.table("threads", thread=[0], process=[0], tid=[1], kind=["main"]),
        build.table(
            "frames", frame=range(len(f)), layer=[x[0] for x in f], name=[x[1] for x in f],
            file=[x[2] for x in f], line=[x[3] for x in f],
        ),
        build.table(
            "stacks", stack=range(len(n)), parent=[x[0] for x in n], frame=[x[1] for x in n], depth=depth
        ),
        build.table(
            "samples", time_ns=[s[0] for s in samples], thread=[0] * len(samples),
            stack=[s[1] for s in samples], state=["running"] * len(samples), weight_ns=[s[2] for s in samples],
        ),
        build.table(
            "marks", mark=range(steps), process=[0] * steps, thread=[0] * steps, kind=["step"] * steps,
            name=["train"] * steps, number=[m[0] for m in marks], start_ns=[m[1] for m in marks],
            end_ns=[m[2] for m in marks],
        ),
    ]  # fmt: skip
    if ops:
        tables += [
            build.table(
                "ops", op=range(len(calls)), thread=[0] * len(calls), start_ns=[c[0] for c in calls],
                end_ns=[c[1] for c in calls], name=[c[2] for c in calls], kind=["op"] * len(calls),
                shapes=[c[3] for c in calls], file=[f"{ROOT}/train.py"] * len(calls), line=[c[4] for c in calls],
            ),
            build.table(
                "memory", time_ns=[m[0] for m in memory], thread=[0] * len(memory), device=["cpu"] * len(memory),
                address=range(len(memory)), bytes=[m[1] for m in memory], op=[m[2] for m in memory],
            ),
        ]  # fmt: skip
    options = {"rate_hz": 1000.0, "window": "auto", **meta.pop("options", {})}
    about = Meta(
        program="train.py", command=["python", f"{ROOT}/train.py"], directory=ROOT, options=options, exit_code=0,
        **meta,
    )  # fmt: skip
    return Recording(about, {t.name: t for t in tables})
