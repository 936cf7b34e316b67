"""Work of torch's own pools stands under who handed it over: inter-op tasks, and graphs that spare threads evaluate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from sonde.analyze.samples.labels import frame_labels
from sonde.columns import Table
from sonde.ingest.agent import assemble
from sonde.symbols.resolver import Resolver
from tests.lifecycle.recorded import run

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.serial,
    pytest.mark.torch,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]


def record(script: str, cpu_s: float, folder: Path) -> dict[str, Table]:
    result = run(
        [sys.executable, HERE / script, str(cpu_s)], rate_hz=200, environment={"OMP_NUM_THREADS": "1"}
    )
    assert result.code == 0, result.errors
    return assemble([result.main()], Resolver(folder))


def of_kind(tables: dict[str, Table], kind: str) -> Iterator[tuple[int, list[str]]]:
    """Owner and frames, root first, of the on-CPU samples with a stack on threads of a kind."""
    samples, threads = tables["samples"], tables["threads"]
    labels = frame_labels(tables["frames"])
    parent, frame = tables["stacks"].array("parent"), tables["stacks"].array("frame")
    wanted = set(threads.array("thread")[threads.text("kind").equals(kind)].tolist())
    asleep = samples.text("state").equals("waiting") | samples.text("walk").equals("residual")
    rows = samples.take(~asleep)
    for thread, owner, stack in zip(
        *(rows.array(name).tolist() for name in ("thread", "owner", "stack")), strict=True
    ):
        if thread in wanted:
            names: list[str] = []
            while stack >= 0:
                names.append(labels[frame[stack]])
                stack = int(parent[stack])
            yield owner, names[::-1]


def main_thread(tables: dict[str, Table]) -> int:
    threads = tables["threads"]
    return int(threads.array("thread")[threads.text("kind").equals("main")][0])


def test_inter_op_tasks_stand_under_the_line_that_launched_them(tmp_path: Path) -> None:
    tables = record("inter_op.py", 1.5, tmp_path)
    # Not by Sonde's own frame, `sonde::run_task`: a wheel's library is stripped and has no such name.
    seen = [(owner, names) for owner, names in of_kind(tables, "interop") if "[label] pool" in names]
    assert len(seen) > 50
    main = main_thread(tables)
    assert sum(owner == main for owner, _ in seen) > 0.5 * len(seen)
    for owner, names in seen:  # a task may go on in another one, which then stands below it
        assert owner >= 0
        boundary = names.index("[label] pool")
        assert "launcher (inter_op.py:27)" in names[:boundary]
        assert names[boundary - 1] == "c10::ThreadPool::run"
        assert "c10::ThreadPool::main_loop" in names[boundary:]
    kernels = [names for _, names in seen if {"[op] aten::mm", "[op] aten::tanh"} & set(names)]
    assert len(kernels) > 0.9 * len(seen)


def test_a_graph_that_a_spare_thread_evaluates_belongs_to_the_caller_of_backward(tmp_path: Path) -> None:
    tables = record("deep_backward.py", 2.5, tmp_path)
    seen = list(of_kind(tables, "autograd"))
    assert len(seen) > 30
    owned = [names for owner, names in seen if owner == main_thread(tables)]
    # Until a first node was seen on another thread the callers' stacks are not taken.
    assert len(owned) > 0.85 * len(seen)
    for names in owned:
        boundary = names.index("[label] pool")
        assert "torch::autograd::Engine::reentrant_thread_init" in names[boundary:]
        assert any(name.startswith(("Deep.backward", "backward (deep_")) for name in names[:boundary])
