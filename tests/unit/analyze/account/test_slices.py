"""The slices of an account sum to the step, on whole and on partial recordings."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.analyze.account.slices import account_of, sliced
from sonde.analyze.base.intervals import union
from sonde.analyze.samples.stack_index import StackIndex
from sonde.insights.account import account
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject
from sonde.store import build
from sonde.store.recording import Recording
from sonde.store.schema import TABLES
from tests.fixtures.synthetic import training_run
from tests.fixtures.walk import Stacks

MS = 1_000_000
PROGRAM = {"file": "/home/u/train.py"}


@lru_cache(maxsize=1)
def whole() -> Recording:
    return training_run(steps=12, sample_hz=200)


def closes(recording: Recording) -> None:
    try:
        found = account(Subject(recording))
    except NotEnough:
        return
    assert sum(s.ns for s in found.slices) == pytest.approx(found.whole_ns, rel=0.01)
    assert sum(s.share for s in found.slices) == pytest.approx(1.0, abs=0.01)
    assert all(s.ns > 0 for s in found.slices)


def test_the_account_of_a_training_run_sums_to_the_step() -> None:
    found = account(Subject(whole()))
    assert found.unit == "step"
    assert sum(s.ns for s in found.slices) == pytest.approx(found.whole_ns, rel=1e-6)
    assert {"arithmetic", "memory"} <= set(found.kinds())
    assert any(s.place.file.endswith("gpt.py") and s.modules for s in found.slices)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    missing=st.sets(st.sampled_from(sorted(TABLES)), max_size=6),
    cut=st.dictionaries(st.sampled_from(sorted(TABLES)), st.floats(0, 1), max_size=4),
    steps=st.integers(0, 12),
)
def test_it_closes_on_partial_recordings(missing: set[str], cut: dict[str, float], steps: int) -> None:
    tables = {t.name: build.empty(t.name) if t.name in missing else t for t in whole().tables()}
    for name, share in cut.items():
        if name in tables:
            tables[name] = tables[name].take(np.arange(round(len(tables[name]) * share)))
    marks = tables["marks"]
    is_step = marks.text("kind").equals("step")
    tables["marks"] = marks.take(np.flatnonzero(~is_step | (marks.array("number") < steps)))
    closes(Recording(whole().meta, tables))


def made(rows: list[tuple[int, int, str, str | None, int]], end_ms: int) -> Recording:
    """One main thread: (time ms, stack, state, reason, weight ms) over stacks 0: import, 1 and 2: lines 5 and 6."""
    stacks = Stacks()
    module = stacks.push(-1, "python", "<module>", line=1, **PROGRAM)
    importing = stacks.push(module, "python", "_find_and_load", file="<frozen importlib._bootstrap>", line=9)
    places = [
        importing,
        stacks.push(-1, "python", "work", line=5, **PROGRAM),
        stacks.push(-1, "python", "work", line=6, **PROGRAM),
    ]
    frames, tree = stacks.tables()
    samples = build.table(
        "samples",
        time_ns=[r[0] * MS for r in rows],
        thread=[0] * len(rows),
        stack=[places[r[1]] for r in rows],
        state=[r[2] for r in rows],
        reason=[r[3] for r in rows],
        weight_ns=[r[4] * MS for r in rows],
    )
    threads = build.table(
        "threads", thread=[0], process=[0], kind=["main"], start_ns=[0], end_ns=[end_ms * MS]
    )
    tables = {"frames": frames, "stacks": tree, "samples": samples, "threads": threads}
    return Recording(whole().meta, tables)


def test_imports_are_set_apart_and_waits_are_cut() -> None:
    """Import until 100 ms; line 5 works 40 ms, sleeps 50 ms, line 6 works 10 ms; the rest of 110 ms is unseen."""
    rows: list[tuple[int, int, str, str | None, int]] = [
        (t, 0, "running", None, 10) for t in range(10, 101, 10)
    ]
    rows += [(t, 1, "running", None, 10) for t in range(110, 150, 10)]
    rows += [(150, 1, "waiting", "sleep", 50), (208, 2, "running", None, 10)]
    found = account(Subject(made(rows, 211)))
    assert found.unit == "run"
    by = {(s.place.line, s.kind): s.ns / MS for s in found.slices}
    assert by[5, "python"] == pytest.approx(40, rel=0.01)
    assert by[5, "sleep"] == pytest.approx(50, rel=0.01)
    assert by[6, "python"] == pytest.approx(10, rel=0.01)
    assert by[-1, "unseen"] == pytest.approx(11, rel=0.01)
    assert found.whole_ns / MS == pytest.approx(111, rel=0.01)


def test_what_other_programs_took_is_a_slice_and_not_the_lines() -> None:
    rows: list[tuple[int, int, str, str | None, int]] = [
        (t, 1, "running", None, 10) for t in range(0, 100, 20)
    ]
    rows += [(0, 1, "waiting", "preempted", 50)]
    recording = made(rows, 100)
    index = StackIndex(recording.table("frames"), recording.table("stacks"))
    samples = recording.table("samples")
    found = account_of(
        samples, recording.table("threads"), sliced(index, samples, 0), 0, union([0], [100 * MS])
    )
    assert found.taken_ns / MS == pytest.approx(50)
    assert found.own_ns / MS == pytest.approx(50)
    assert found.kinds() == {"python": 0.5, "taken": 0.5}


def test_a_call_of_a_library_is_told_by_the_librarys_lines() -> None:
    stacks = Stacks()
    line = stacks.push(-1, "python", "<module>", line=3, **PROGRAM)
    trainer = "/x/site-packages/trainer/loop.py"
    places = [stacks.push(line, "python", "fit", file=trainer, line=n) for n in (10, 11)]
    frames, tree = stacks.tables()
    samples = build.table(
        "samples",
        time_ns=[n * MS for n in range(10)],
        thread=[0] * 10,
        stack=[places[n % 2] for n in range(10)],
        state=["running"] * 10,
        weight_ns=[MS] * 10,
    )
    judged = sliced(StackIndex(frames, tree), samples, 0)
    found = account_of(samples, build.empty("threads"), judged, 0, union([0], [10 * MS]))
    assert found.from_library
    assert {s.place.line for s in found.slices} == {10, 11}
