"""Operators of primitives: by calls, by the samples inside them, by their like, or not known."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.primitives.places import shares, with_places
from sonde.columns import Table
from sonde.store import build

MS = 1_000_000


def frames() -> tuple[Table, Table]:
    """Stacks 0: addmm under model.cpp:7; 1: mm under model.cpp:7; 2: only the system's files."""
    table = build.table(
        "frames",
        frame=[0, 1, 2, 3],
        layer=["native", "op", "op", "native"],
        name=["step", "aten::addmm", "aten::mm", "difftime"],
        file=["/home/me/model.cpp", None, None, "./time/difftime.c"],
        line=[7, -1, -1, 113],
    )
    stacks = build.table(
        "stacks", stack=[0, 1, 2, 3], parent=[3, 3, -1, -1], frame=[1, 2, 3, 0], depth=[2, 2, 1, 1]
    )
    return table, stacks


def primitives(shapes: list[str], thread: int = 4, op: int = -1) -> Table:
    """One call of a millisecond every ten, on one thread."""
    count = len(shapes)
    return build.table(
        "primitives", primitive=np.arange(count), process=np.zeros(count, int), thread=np.full(count, thread),
        start_ns=np.arange(count) * 10 * MS, time_ms=np.ones(count), event=["exec"] * count,
        kind=["sgemm"] * count, shape=shapes, op=np.full(count, op),
    )  # fmt: skip


def samples(*rows: tuple[float, int, int]) -> Table:
    """(ms, thread, stack)"""
    ms, thread, stack = zip(*rows, strict=True) if rows else ((), (), ())
    return build.table(
        "samples", len(rows), time_ns=[int(m * MS) for m in ms], thread=list(thread), stack=list(stack),
        state=["running"] * len(rows), weight_ns=[MS] * len(rows),
    )  # fmt: skip


def placed(calls: Table, sampled: Table, ops: Table | None = None) -> Table:
    table, stacks = frames()
    return with_places(calls, ops or build.table("ops"), sampled, stacks, table)


def test_a_sample_inside_names_the_operator_and_the_users_line() -> None:
    found = placed(primitives(["a", "b"]), samples((0.5, 4, 0), (5.0, 4, 1), (10.9, 4, 1)))
    assert found.text("operator").tolist() == ["aten::addmm", "aten::mm"]
    assert found.text("line").tolist() == ["/home/me/model.cpp:7"] * 2
    assert found.text("evidence").tolist() == ["sample", "sample"]


def test_calls_of_one_shape_share_what_their_samples_agree_on() -> None:
    found = placed(primitives(["a", "a", "b"]), samples((10.5, 4, 0)))
    assert found.text("operator").tolist() == ["aten::addmm", "aten::addmm", None]
    assert found.text("evidence").tolist() == ["alike", "sample", None]
    assert shares(found) == pytest.approx({"call": 0, "sample": 1 / 3, "alike": 1 / 3, "unknown": 1 / 3})


def test_where_samples_disagree_nothing_is_guessed() -> None:
    found = placed(primitives(["a", "a", "a"]), samples((0.5, 4, 0), (10.5, 4, 1)))
    assert found.text("operator").tolist() == ["aten::addmm", "aten::mm", None]


def test_samples_of_other_threads_between_calls_and_without_an_operator_say_nothing() -> None:
    found = placed(primitives(["a", "b"]), samples((0.5, 9, 0), (1.5, 4, 0), (10.5, 4, 2)))
    assert found.text("operator").tolist() == [None, None]
    assert shares(found)["unknown"] == 1


def test_a_recorded_call_is_trusted_over_samples() -> None:
    ops = build.table(
        "ops", op=[7], name=["aten::linear"], module=["fc1"], file=["/home/me/train.py"], line=[3],
        start_ns=[0], end_ns=[20 * MS], thread=[4],
    )  # fmt: skip
    found = placed(primitives(["a"], op=7), samples((0.5, 4, 0)), ops)
    row = [found.text(n).tolist()[0] for n in ("operator", "module", "line", "evidence")]
    assert row == ["aten::linear", "fc1", "/home/me/train.py:3", "call"]
