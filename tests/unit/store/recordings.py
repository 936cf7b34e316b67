"""A tiny recording with every kind of row, for tests of the store and the views.

Two threads of one process; main spends 30 ms in `a` under `main` and 10 ms in
`b`; the worker waits 5 ms. One operator calls another.
"""

from __future__ import annotations

from sonde.columns import Table
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording


def tables() -> dict[str, Table]:
    made = (
        build.table(
            "processes", process=[0], pid=[41], parent=[-1], role=["main"], command=["python a.py"],
            start_ns=[0], end_ns=[100_000_000], exit_code=[0], cpu_user_ns=[40_000_000], cpu_system_ns=[0],
        ),
        build.table(
            "threads", thread=[0, 1], process=[0, 0], tid=[41, 42],
            kind=["main", "omp"], name=["python", None],
        ),
        build.table(
            "frames", frame=[0, 1, 2], layer=["python", "native", "jit"], name=["main", "a", "b"],
            file=["a.py", None, None], line=[3, -1, -1],
        ),
        build.table("stacks", stack=[0, 1, 2], parent=[-1, 0, 0], frame=[0, 1, 2], depth=[1, 2, 2]),
        build.table(
            "samples", time_ns=[10, 20, 30, 40], thread=[0, 0, 0, 1], stack=[1, 1, 2, 2],
            state=["running", "running", "running", "waiting"], reason=[None, None, None, "lock"],
            weight_ns=[20_000_000, 10_000_000, 10_000_000, 5_000_000],
        ),
        build.table(
            "ops", op=[0, 1], thread=[0, 0], start_ns=[0, 1_000_000], end_ns=[10_000_000, 4_000_000],
            parent=[-1, 0], name=["aten::linear", "aten::addmm"], kind=["op", "op"],
        ),
        build.table(
            "marks", mark=[0], process=[0], kind=["step"], number=[0], start_ns=[0], end_ns=[50_000_000],
        ),
        build.table("losses", process=[0], cause=["ring_full"], count=[3], unit=["samples"]),
    )  # fmt: skip
    return {t.name: t for t in made}


def recording() -> Recording:
    return Recording(Meta(program="a.py"), tables())
