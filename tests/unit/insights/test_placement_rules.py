"""Rules about cores, nodes, moves, stolen time, storage, instances and roofs: planted, and not planted."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.columns import Text
from sonde.insights.engine import judge
from sonde.insights.rules.device.cudnn_benchmark import RULE as CUDNN
from sonde.insights.subject import Subject
from sonde.store import build
from sonde.store.recording import Recording
from tests.fixtures.device_run import device_run
from tests.unit.insights.planted import mark, planted, said, settings

EIGHT_CPUS = {"usable_cpus": 8, "cpus": 8}


def heard(rule: str, machine: dict[str, Any] | None = None, **values: Any) -> bool:
    return said(judge(planted(settings(**values), machine=machine or EIGHT_CPUS)), rule) is not None


def test_threads_on_siblings_of_one_core() -> None:
    assert heard("smt_siblings", threads=8, physical_cpus=4)
    assert not heard("smt_siblings", threads=4, physical_cpus=4)
    assert not heard("smt_siblings", threads=16, physical_cpus=4)  # more than the CPUs: rule 24 speaks
    assert not heard("smt_siblings", threads=8, physical_cpus=1, affinity={"main": 1})  # bound: rule 29
    assert "smt_siblings" in judge(planted(settings(threads=8))).not_judged


def test_memory_on_one_node_only_matters_where_kernels_wait_for_it() -> None:
    far = {"0": 9 << 30, "1": 1 << 29}
    spread = {"0": 5 << 30, "1": 5 << 30}
    everything_waits = _all_in_kernel("at::native::vectorized_elementwise_kernel")
    for held, loud in ((far, True), (spread, False), ({"0": 1 << 20}, False), ({}, False)):
        run = planted(settings(threads=8, numa_bytes=held), tables=everything_waits, machine=EIGHT_CPUS)
        assert (said(judge(run), "numa_remote") is not None) == loud, held
    assert not heard("numa_remote", threads=8, numa_bytes=far)  # its products compute: the memory can be far


def _all_in_kernel(name: str) -> dict[str, Any]:
    """Frames of the synthetic run, all native ones called `name` and no operator among them a product."""
    frames = next(t for t in planted().tables() if t.name == "frames")
    native = frames.text("layer").equals("native")
    names = [name if n else v for n, v in zip(native, frames.text("name").tolist(), strict=True)]
    plain = [("aten::add" if v and v.startswith("aten::") else v) for v in names]
    jit = frames.text("layer").equals("jit")
    return {
        "frames": frames.with_columns(
            name=Text.of([name if j else v for j, v in zip(jit, plain, strict=True)])
        )
    }


def test_moves_between_cpus_are_judged_by_their_rate() -> None:
    assert heard("cpu_migrations", scheduling={"seconds": 10.0, "stolen_share": 0.0, "most_moves": 900})
    assert not heard("cpu_migrations", scheduling={"seconds": 10.0, "stolen_share": 0.0, "most_moves": 90})
    silent = judge(planted(settings(scheduling={"seconds": 10.0, "stolen_share": 0.0})))
    assert "cpu_migrations" in silent.not_judged


def test_stolen_time_is_told_as_noise_and_comes_last() -> None:
    run = planted(settings(threads=8, physical_cpus=4, scheduling={"seconds": 10.0, "stolen_share": 0.3}))
    report = judge(run)
    found = said(report, "stolen_time")
    assert found is not None
    assert found.saving is None
    assert report.insights[-1].rule == "stolen_time"
    assert not heard("stolen_time", scheduling={"seconds": 10.0, "stolen_share": 0.01})
    assert not heard("stolen_time", scheduling={"seconds": 1.0, "stolen_share": 0.3})


def test_readers_that_wait_for_a_disk() -> None:
    for reason, loud in (("io", True), ("fault", True), ("sleep", False), ("idle", False)):
        run = _slow_reader(reason)
        report = judge(run)
        found = said(report, "storage_bound")
        assert (found is not None) == loud, reason
        if found is not None:
            assert found.saving is not None
            # Half of each step waits, all readers wait for storage: 0.3 to 1.0 of a half.
            assert 0.25 * 0.3 <= found.saving.low_ms / found.saving.of_ms <= 0.5 * 0.3
            assert 0.4 <= found.saving.high_ms / found.saving.of_ms <= 0.6


def _slow_reader(reason: str) -> Recording:
    """Batches take half of each step, and the loader's process waits for `reason` all the time."""
    subject = Subject(planted())
    starts = [s.start_ns for s in subject.report.steps]
    half = int(subject.step_ns / 2)
    marks = build.concat(
        "marks", [mark("phase", starts, half, "dataloader"), settings(loaders=[{"num_workers": 1}])]
    )
    samples, stacks, frames = (subject.table(name) for name in ("samples", "stacks", "frames"))
    fetch = "/x/torch/utils/data/_utils/fetch.py"
    frame = build.table(
        "frames", 1, frame=[len(frames)], layer=["python"], name=["fetch"], file=[fetch], line=[52]
    )
    stack = build.table("stacks", 1, stack=[len(stacks)], parent=[-1], frame=[len(frames)])
    count = 400
    time_ns = np.linspace(starts[0], starts[-1], count).astype(np.int64)
    more = build.table(
        "samples",
        count,
        time_ns=time_ns,
        thread=[3] * count,
        stack=[len(stacks)] * count,
        state=["waiting"] * count,
        reason=[reason] * count,
        weight_ns=[1_000_000] * count,
    )
    tables = {
        "samples": build.concat("samples", [samples, more]),
        "frames": build.concat("frames", [frames, frame]),
        "stacks": build.concat("stacks", [stacks, stack]),
    }
    return planted(marks, tables=tables)


def test_many_cpus_that_one_small_model_leaves_idle() -> None:
    run = planted(settings(threads=8), machine=EIGHT_CPUS)
    marks = run.table("marks")
    phases = marks.text("kind").equals("phase")
    inference = marks.take(np.flatnonzero(~phases | marks.text("name").equals("forward")))
    tables = {**{t.name: t for t in run.tables()}, "marks": inference}
    assert said(judge(Recording(run.meta, tables)), "multi_instance") is not None
    assert said(judge(run), "multi_instance") is None  # it trains
    few = planted(settings(threads=2), machine={"usable_cpus": 2})
    assert said(judge(Recording(few.meta, {**tables, "marks": few.table("marks")})), "multi_instance") is None


def test_an_operator_far_below_the_roof() -> None:
    def roofs(peak: float) -> dict[str, Any]:
        rate = {"threads": 2, "median": 1.0, "samples": 30}
        return {
            "format": 1,
            "machine": "x",
            "when": "",
            "source": "native",
            "seconds": 1.0,
            "peaks": [{"name": "f32", "best": peak, **rate}],
            "bandwidths": [{"name": "memory", "best": 1e12, **rate}],
        }

    high = judge(planted(settings(threads=2), machine={**EIGHT_CPUS, "roofs": roofs(50e12)}))
    found = said(high, "roofline_outlier")
    assert found is not None
    assert found.saving is not None
    assert 0 < found.saving.low_ms < found.saving.high_ms <= found.saving.of_ms
    near = judge(planted(settings(threads=2), machine={**EIGHT_CPUS, "roofs": roofs(1e9)}))
    assert said(near, "roofline_outlier") is None
    assert "roofline_outlier" in judge(planted(settings(threads=2), machine=EIGHT_CPUS)).not_judged


def test_benchmark_is_advised_only_where_it_is_off_and_shapes_stay() -> None:
    run = device_run()
    ops = run.table("ops")
    convolutions = ops.text("name").equals("aten::cudnn_convolution")

    def with_column(name: str, values: list[str | None]) -> Recording:
        changed = ops.with_columns(**{name: Text.of(values)})
        return Recording(run.meta, {**{t.name: t for t in run.tables()}, "ops": changed})

    inputs, shapes = ops.text("inputs").tolist(), ops.text("shapes").tolist()
    on = [(v or "").replace('"1", "False"', '"1", "True"') for v in inputs]
    growing = [
        f"[[8, 3, 64, {64 + i}]]" if c else v
        for i, (c, v) in enumerate(zip(convolutions, shapes, strict=True))
    ]
    assert said(judge(run), "cudnn_benchmark") is not None
    assert said(judge(with_column("inputs", list(on))), "cudnn_benchmark") is None
    assert said(judge(with_column("shapes", growing)), "cudnn_benchmark") is None
    unknown = judge(with_column("inputs", [None] * len(ops)))
    assert CUDNN.name in unknown.not_judged
