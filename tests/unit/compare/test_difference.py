"""Planted changes are found where they were planted, and nothing is found where nothing was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sonde.compare.difference import Difference, difference
from sonde.compare.likeness import likeness
from sonde.compare.rows import Row
from sonde.store.recording import Recording

from .planted import Work, program, record


def sure(found: Difference, dimension: str) -> list[Row]:
    return [r for r in found.rows if r.dimension == dimension and r.sure]


def both(a: list[Work], b: list[Work], recordings: int = 1, **options: object) -> Difference:
    left = [record(a, seed=i, **options) for i in range(recordings)]  # type: ignore[arg-type]
    right = [record(b, seed=100 + i, **options) for i in range(recordings)]  # type: ignore[arg-type]
    return difference(left, right)


@pytest.mark.parametrize("recordings", [1, 4])
@pytest.mark.parametrize("ops", [True, False])
def test_an_added_operator(recordings: int, ops: bool) -> None:
    quiet = 0.01 if recordings > 1 else 0.0
    found = both(program(), program(Work("aten::sigmoid", 3.0, 24)), recordings, ops=ops, run_noise=quiet)
    assert found.judgement.word == "slower"
    assert found.judgement.ratio.low <= 14 / 11 <= found.judgement.ratio.high
    top = sure(found, "op")[0]
    assert (top.name, top.a) == ("aten::sigmoid", 0.0)
    assert top.low <= 3.0 <= top.high
    assert sure(found, "line")[0].name == "train.py:24 step"
    if ops:
        assert sure(found, "shape")[0].name == "aten::sigmoid [[8, 8], [8, 8]]"
    assert found.judgement.repetitions == ("recordings" if recordings > 1 else "one run each")


def test_a_slowed_line_without_any_operator() -> None:
    slow = [replace(w, ms=4.5) if w.function == "load_batch" else w for w in program()]
    found = both(program(), slow, 3)
    assert found.judgement.word == "slower"
    top = sure(found, "line")[0]
    assert (top.name, top.source) == ("train.py:11 load_batch", "samples")
    assert top.low <= 2.5 <= top.high
    assert sure(found, "function")[0].name == "train.py load_batch"
    assert not sure(found, "op"), "no operator changed"


def test_a_changed_shape() -> None:
    big = [replace(w, ms=9.0, shape="[[8, 12], [12, 8]]") if w.op == "aten::mm" else w for w in program()]
    found = both(program(), big, 3)
    names = {r.name: (r.a, r.b) for r in sure(found, "shape")}
    assert set(names) == {"aten::mm [[8, 8], [8, 8]]", "aten::mm [[8, 12], [12, 8]]"}
    assert names["aten::mm [[8, 12], [12, 8]]"][0] == 0.0
    assert names["aten::mm [[8, 8], [8, 8]]"][1] == 0.0
    assert [r.name for r in sure(found, "op")] == ["aten::mm"]


def test_a_renamed_function_is_one_row_and_moved_lines_meet() -> None:
    renamed = [
        replace(w, function="read_batch" if w.function == "load_batch" else w.function, line=w.line + 5)
        for w in program()
    ]
    slower = [replace(w, ms=9.0) if w.op == "aten::mm" else w for w in renamed]
    found = both(program(), slower, 3)
    rows = {r.name: r for r in found.rows if r.dimension == "function"}
    assert set(rows) == {"train.py load_batch → read_batch", "train.py step"}
    assert rows["train.py load_batch → read_batch"].note == "renamed?"
    assert not rows["train.py load_batch → read_batch"].sure, "it costs what it did"
    lines = {r.name: r for r in found.rows if r.dimension == "line"}
    assert lines["train.py:21→26 step"].note == "moved"
    assert [r.name for r in sure(found, "line")] == ["train.py:21→26 step"]


def test_compiled_kernels_meet_the_operators_they_contain() -> None:
    eager = program()
    compiled = [
        eager[0],
        Work("extern_kernels::mm", 6.0, 21),
        Work("cpp_fused_add_relu_0", 1.0, 22),
    ]
    found = both(eager, compiled, 3)
    assert found.judgement.word == "faster"
    rows = {r.name: r for r in found.rows if r.dimension == "op"}
    assert set(rows) == {"aten::mm ⟷ extern_kernels::mm", "aten::add + aten::relu ⟷ cpp_fused_add_relu_0"}
    assert [r.name for r in sure(found, "op")] == ["aten::add + aten::relu ⟷ cpp_fused_add_relu_0"]
    fused = sure(found, "op")[0]
    assert fused.a == pytest.approx(3.0, rel=0.05)
    assert fused.b == pytest.approx(1.0, rel=0.05)


def test_matmul_and_add_become_addmm() -> None:
    eager = [Work("aten::mm", 6.0, 21), Work("aten::add", 1.0, 21)]
    found = both(eager, [Work("extern_kernels::addmm", 6.5, 21)], 3)
    assert [r.name for r in found.rows if r.dimension == "op"] == [
        "aten::add + aten::mm ⟷ extern_kernels::addmm"
    ]


def test_one_recording_per_side_claims_nothing_small() -> None:
    slower = [replace(w, ms=w.ms * 1.03) for w in program()]
    found = both(program(), slower, noise=0.001, run_noise=0.0)
    assert found.judgement.word == "inconclusive"
    assert "would have been seen" in found.judgement.reason
    assert found.judgement.more_runs >= 3
    assert found.judgement.detectable >= 0.05


def test_nothing_planted_nothing_found() -> None:
    rng = np.random.default_rng(5)
    words, claimed = [], 0
    for _ in range(20):
        seeds = rng.integers(0, 10**6, 8)
        sides = [[record(program(), seed=int(s), steps=30) for s in half] for half in (seeds[:4], seeds[4:])]
        found = difference(*sides)
        words.append(found.judgement.word)
        claimed += any(r.sure for r in found.rows)
    assert sum(word in ("faster", "slower") for word in words) <= 2
    assert claimed <= 4


def test_more_memory_is_seen() -> None:
    more = [replace(w, bytes=8192) if w.op == "aten::mm" else w for w in program()]
    rows = {r.name: (r.a, r.b) for r in sure(both(program(), more), "memory")}
    assert rows["allocated by aten::mm"] == (4096.0, 8192.0)


def test_a_whole_run_without_steps_has_no_verdict_from_one_recording_each() -> None:
    def without_steps(recording: Recording) -> Recording:
        from sonde.store import build

        tables = {t.name: t for t in recording.tables()}
        return Recording(recording.meta, {**tables, "marks": build.empty("marks")})

    a, b = (without_steps(record(program(Work("aten::exp", x, 25)), ops=False)) for x in (1.0, 5.0))
    found = difference([a], [b])
    assert (found.judgement.word, found.unit) == ("inconclusive", "run")
    assert sure(found, "op")[0].name == "aten::exp", "samples still count"


def test_unlike_recordings_are_named() -> None:
    a = record(program())
    other = record(program(), options={"rate_hz": 99.0, "window": "none"})
    told = likeness([a], [other])
    assert told.unlike == [
        "sampling rate: 1000.0 Hz in train.py, 99.0 Hz in train.py",
        "profiling windows: auto in train.py, none in train.py",
    ]
    changed = likeness([a], [record(program(), environment={"OMP_NUM_THREADS": "2"})])
    assert (changed.unlike, changed.changed) == ([], ["OMP_NUM_THREADS: not set → 2"])
    mixed = likeness([a, record(program(), environment={"OMP_NUM_THREADS": "2"})], [a])
    assert mixed.unlike == ["OMP_NUM_THREADS within side A: not set and 2"]


def test_a_call_that_only_one_side_makes_is_sure_however_much_its_time_varies() -> None:
    from sonde.compare.rows import by_presence

    a = np.array([[0.0, 0, 0, 0], [1, 2, 1, 2], [0, 0, 0, 0]])
    b = np.array([[1.0, 900, 2, 1], [2, 1, 2, 1], [0, 900, 2, 1]])
    low, high, p = by_presence(a, b, np.full(3, -280.0), np.full(3, 640.0), np.full(3, 0.3))
    assert p.tolist() == [0.0, 0.3, 0.3], "the third may have run on side A by another chance"
    assert low.tolist() == [0.0, -280.0, -280.0]
    assert high.tolist() == [640.0] * 3
    assert by_presence(a[:, :2], b[:, :2], low, high, np.full(3, 0.3))[2].tolist() == [0.3] * 3


def test_on_a_busy_machine_calls_still_tell_what_is_new() -> None:
    from sonde.store import build

    def crowded(recording: Recording) -> Recording:
        tables = {t.name: t for t in recording.tables()}
        samples = tables["samples"]
        end = int(samples.array("time_ns").max())
        taken = build.table(
            "samples", time_ns=[0], thread=[0], stack=[-1], state=["waiting"], reason=["preempted"],
            weight_ns=[end // 2],
        )  # fmt: skip
        columns = {c: [*samples.text(c).tolist(), *taken.text(c).tolist()] for c in ("state", "reason")}
        numbers = {
            c: [*samples.array(c).tolist(), *taken.array(c).tolist()]
            for c in ("time_ns", "thread", "stack", "weight_ns")
        }
        return Recording(recording.meta, {**tables, "samples": build.table("samples", **columns, **numbers)})

    a, b = crowded(record(program())), crowded(record(program(Work("aten::sigmoid", 0.05, 24)), seed=1))
    found = difference([a], [b])
    assert found.judgement.measure == "own"
    new = [r for r in sure(found, "op") if r.a == 0]
    assert [(r.name, r.source) for r in new] == [("aten::sigmoid", "operator calls")]
    assert all(r.source == "samples" or r.a == 0 for r in sure(found, "op")), (
        "times of calls are the machine's"
    )
