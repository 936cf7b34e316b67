"""Traces: all ranks and steps are blocks, operators by device time, serving steps are steps."""

from __future__ import annotations

import pytest

from sonde.analyze.steps.serving import is_serving_step
from sonde.compare.difference import difference
from sonde.compare.profile import has_steps, profile
from sonde.compare.trace import units
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording

MS = 1_000_000


def trace(
    kernel_ms: float = 6.0, ranks: int = 2, steps: int = 4, name: str = "ProfilerStep#{}", kind: str = "step"
) -> Recording:
    """Each step takes 2 ms on the host and launches one matrix product that takes `kernel_ms` on the device."""
    marks, ops, kernels, launches = [], [], [], []
    for rank in range(ranks):
        for step in range(steps):
            start = int(step * (kernel_ms + 4) * MS) + rank * 1000
            marks.append((rank, start, start + 2 * MS, step))
            ops.append((rank, start + 1000, start + MS))
            launches.append((rank, start + 2000, start + 3000))
            kernels.append((rank, start + 2 * MS, start + int((2 + kernel_ms) * MS)))
    count = range(len(ops))
    tables = [
        build.table("processes", process=range(ranks), parent=[-1] * ranks, rank=range(ranks)),
        build.table("threads", thread=range(ranks), process=range(ranks), tid=range(ranks), kind=["main"] * ranks),
        build.table(
            "marks", mark=count, process=[m[0] for m in marks], thread=[m[0] for m in marks],
            kind=[kind for _ in marks], name=[name.format(m[3]) for m in marks], number=[m[3] for m in marks],
            start_ns=[m[1] for m in marks], end_ns=[m[2] for m in marks],
        ),
        build.table(
            "ops", op=count, thread=[o[0] for o in ops], start_ns=[o[1] for o in ops], end_ns=[o[2] for o in ops],
            name=["aten::mm"] * len(ops), kind=["op"] * len(ops),
        ),
        build.table(
            "launches", launch=count, thread=[x[0] for x in launches],
            start_ns=[x[1] for x in launches], end_ns=[x[2] for x in launches], op=count,
        ),
        build.table(
            "kernels", kernel=count, process=[k[0] for k in kernels], device=[k[0] for k in kernels],
            start_ns=[k[1] for k in kernels], end_ns=[k[2] for k in kernels], name=["gemm"] * len(kernels),
            kind=["kernel"] * len(kernels), launch=count, op=count,
        ),
    ]  # fmt: skip
    return Recording(Meta(source="kineto", program="trace"), {t.name: t for t in tables})


def test_every_step_of_every_rank_is_a_block_by_device_time() -> None:
    found = profile(trace().table, frozenset(), "", True)
    assert found.sheets["op", "operator calls, device time"].values.shape == (1, 8)
    assert found.sheets["op", "operator calls, device time"].means.tolist() == pytest.approx([6.0])
    assert found.sheets["kernel", "device events"].values.shape == (1, 8)
    assert len(found.pace.wall_ms) == 8
    # From the end of the step before to the end of the device's work: not the 2 ms of the host.
    assert found.pace.wall == pytest.approx(8.0)


def test_a_slower_kernel_makes_a_slower_step_though_the_host_does_the_same() -> None:
    found = difference([trace(6.0)], [trace(12.0)])
    assert (found.judgement.word, found.unit, found.stepless) == ("slower", "step", "")
    sure = {(r.dimension, r.name): (r.a, r.b) for r in found.rows if r.sure}
    assert sure["op", "aten::mm"] == pytest.approx((6.0, 12.0))
    assert sure["kernel", "gemm"] == pytest.approx((6.0, 12.0))
    assert difference([trace(6.0)], [trace(6.1)]).judgement.word == "inconclusive"


def test_a_single_step_is_a_step() -> None:
    found = difference([trace(steps=1, ranks=1)], [trace(steps=1, ranks=1)])
    assert (found.unit, found.stepless) == ("step", "")


def test_steps_of_serving_engines_are_steps() -> None:
    found = trace(name="step[DECODE bs={}]", kind="region")
    assert has_steps(found.table)
    assert [len(u.step_ms) for u in units(found.table)] == [4, 4]
    assert not has_steps(trace(name="forward {}", kind="region").table)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("execute_new_3_cached_8", True),
        ("execute_context_2(512)_generation_8(8)", True),
        ("execute_8192_context_9(sq8155sk8430sqsq1sqsk2)_generation_37(sq37sk34489sqsq3sqsk4)", True),
        ("step[EXTEND bs=15 toks=15360]", True),
        ("step[DECODE bs=32]", True),
        ("capture_8192_PIECEWISE", False),
        ("execute_model", False),
        ("step", False),
        (None, False),
    ],
)
def test_names_of_serving_steps(name: str | None, wanted: bool) -> None:
    assert is_serving_step(name) is wanted


def test_of_two_marks_for_one_step_the_outer_one_counts() -> None:
    found = trace(ranks=1, steps=2, name="step[DECODE bs={}]", kind="region")
    marks = found.table("marks")
    names = ["execute_context_0(0)_generation_8(8)", "step[DECODE bs=8]"]
    both = build.table(
        "marks", mark=[0, 1], process=[0, 0], thread=[0, 0], kind=["region"] * 2, name=names, number=[-1, -1],
        start_ns=[0, 1000], end_ns=[int(marks.array("end_ns").max()), 2 * MS],
    )  # fmt: skip
    tables = {t.name: t for t in found.tables()}
    assert [len(u.step_ms) for u in units(Recording(found.meta, {**tables, "marks": both}).table)] == [1]
