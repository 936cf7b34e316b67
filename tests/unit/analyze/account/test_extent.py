"""The run without imports, start and end; of a program that only started there is none."""

from __future__ import annotations

import pytest

from sonde.analyze.account.extent import run_extent
from sonde.analyze.samples.stack_index import StackIndex
from sonde.store import build

MS = 1_000_000


@pytest.mark.parametrize(("works", "expected"), [(True, [(60, 100)]), (False, [])])
def test_a_program_that_only_imports_has_no_run(works: bool, expected: list[tuple[int, int]]) -> None:
    """Six samples of imports, four of work or of more imports."""
    frames = build.table(
        "frames",
        frame=[0, 1],
        layer=["python"] * 2,
        name=["_find_and_load", "main"],
        file=["<frozen importlib._bootstrap>", "/home/me/train.py"],
        line=[1, 5],
    )
    stacks = build.table("stacks", stack=[0, 1], parent=[-1, -1], frame=[0, 1])
    samples = build.table(
        "samples",
        time_ns=[(10 * i + 5) * MS for i in range(10)],
        thread=[0] * 10,
        stack=[0] * 6 + [1 if works else 0] * 4,
        state=["running"] * 10,
        weight_ns=[10 * MS] * 10,
    )
    threads = build.table("threads", thread=[0], process=[0], kind=["main"], start_ns=[0], end_ns=[100 * MS])
    found = run_extent(samples, threads, 0, StackIndex(frames, stacks))
    assert [
        (round(a / MS, -1), round(b / MS, -1)) for a, b in zip(found.starts, found.ends, strict=True)
    ] == expected


def test_an_end_that_is_longer_than_the_program_is_no_part_of_its_start() -> None:
    """Four samples of imports, two of work, three at the interpreter's end."""
    frames = build.table(
        "frames",
        frame=[0, 1, 2],
        layer=["python", "python", "native"],
        name=["_find_and_load", "main", "Py_FinalizeEx"],
        file=["<frozen importlib._bootstrap>", "/home/me/train.py", None],
        line=[1, 5, -1],
    )
    stacks = build.table("stacks", stack=[0, 1, 2], parent=[-1] * 3, frame=[0, 1, 2])
    samples = build.table(
        "samples",
        time_ns=[(10 * i + 5) * MS for i in range(9)],
        thread=[0] * 9,
        stack=[0] * 4 + [1] * 2 + [2] * 3,
        state=["running"] * 9,
        weight_ns=[10 * MS] * 9,
    )
    threads = build.table("threads", thread=[0], process=[0], kind=["main"], start_ns=[0], end_ns=[90 * MS])
    found = run_extent(samples, threads, 0, StackIndex(frames, stacks))
    spans = zip(found.starts, found.ends, strict=True)
    assert [(round(a / MS, -1), round(b / MS, -1)) for a, b in spans] == [(40, 60)]


def test_a_stretch_without_a_sample_of_own_code_is_no_run() -> None:
    """A program that failed while it started: between its imports and its end there is time, and nothing in it."""
    frames = build.table(
        "frames",
        frame=[0, 1, 2],
        layer=["python", "python", "native"],
        name=["main", "_find_and_load", "Py_FinalizeEx"],
        file=["/home/me/train.py", "<frozen importlib._bootstrap>", None],
        line=[1, 5, -1],
    )
    stacks = build.table("stacks", stack=[0, 1, 2], parent=[-1, 0, -1], frame=[0, 1, 2])
    samples = build.table(
        "samples",
        time_ns=[at * MS for at in (5, 15, 25, 35, 45, 125, 135, 145)],
        thread=[0] * 8,
        stack=[1] * 5 + [2] * 3,
        state=["running"] * 8,
        weight_ns=[10 * MS] * 8,
    )
    threads = build.table("threads", thread=[0], process=[0], kind=["main"], start_ns=[0], end_ns=[150 * MS])
    assert not len(run_extent(samples, threads, 0, StackIndex(frames, stacks)))
