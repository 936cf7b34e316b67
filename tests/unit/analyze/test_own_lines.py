"""The user's lines: in Python, in C++, and of programs that are no files."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.account.places import places_of
from sonde.analyze.samples.own_lines import is_own, own_lines
from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Table, Text
from sonde.store import build


def tables(*stacks: tuple[tuple[str, str, str | None, int], ...]) -> tuple[Table, Table, Table]:
    """One sample of 10 ns for each stack, given from the root on as (layer, name, file, line)."""
    frames: list[tuple[str, str, str | None, int]] = []
    rows: list[tuple[int, int, int]] = []
    leaves = []
    for stack in stacks:
        parent = -1
        for frame in stack:
            if frame not in frames:
                frames.append(frame)
            rows.append((len(rows), parent, frames.index(frame)))
            parent = len(rows) - 1
        leaves.append(parent)
    layer, name, file, line = (list(column) for column in zip(*frames, strict=True))
    number, above, frame_of = (list(column) for column in zip(*rows, strict=True))
    return (
        build.table(
            "frames",
            len(frames),
            frame=list(range(len(frames))),
            layer=layer,
            name=name,
            file=file,
            line=line,
        ),
        build.table("stacks", len(rows), stack=number, parent=above, frame=frame_of),
        build.table("samples", len(leaves), stack=leaves, weight_ns=[10] * len(leaves)),
    )


MAIN = ("native", "main", "/home/me/vae.cpp", 104)
LIBRARY = ("native", "at::mm", "/usr/include/c++/12/bits/stl_vector.h", 9)


def test_a_program_without_python_has_the_lines_of_its_debug_information() -> None:
    found = own_lines(*tables((MAIN, LIBRARY), (("native", "main", "/home/me/vae.cpp", 105),)), carried=())
    assert found.rows == [("main (vae.cpp:104)", 10), ("main (vae.cpp:105)", 10)]


def test_native_lines_below_python_are_not_the_users() -> None:
    python = ("python", "train", "/home/me/train.py", 3)
    found = own_lines(*tables((python, ("native", "_PyEval", "/home/me/cpython/ceval.c", 7))), carried=())
    assert found.rows == [("train (train.py:3)", 10)]


def test_a_line_with_nearly_all_time_shows_the_library_lines_below_it() -> None:
    mine = ("python", "<module>", "/home/me/one.py", 1)
    fit = ("python", "Trainer.fit", "/env/lib/python3.11/site-packages/lib/trainer.py", 50)
    step = ("python", "Trainer.step", "/env/lib/python3.11/site-packages/lib/trainer.py", 70)
    found = own_lines(*tables((mine, fit, step), (mine, fit, step), (mine, fit)), carried=())
    assert found.rows == [("<module> (one.py:1)", 30)]
    assert found.below == [("Trainer.step (trainer.py:70)", 20), ("Trainer.fit (trainer.py:50)", 10)]


@pytest.mark.parametrize(
    ("file", "carried", "own"),
    [
        ("<string>", {"<string>"}, True),  # python -c
        ("<string>", set(), False),  # what dataclasses generate
        ("<stdin>", {"<stdin>"}, True),
        ("/tmp/ipykernel_71/2851.py", set(), True),
        ("<ipython-input-3-abc>", set(), True),
        ("<frozen importlib._bootstrap>", set(), False),
    ],
)
def test_programs_that_are_no_files_have_lines(file: str, carried: set[str], own: bool) -> None:
    assert is_own("python", file, native=False, carried=carried) is own


def test_a_program_without_debug_information_has_its_functions() -> None:
    frames, stacks, samples = tables(
        (("native", "_start", None, -1), ("native", "main", None, -1), ("native", "at::mm", None, -1)),
        (("native", "_start", None, -1), ("native", "main", None, -1), ("native", "Net::forward", None, -1)),
    )
    libraries = ["libtorch_cpu.so" if name == "at::mm" else "vae" for name in frames.text("name").tolist()]
    frames = frames.with_columns(library=Text.of(libraries))
    found = own_lines(frames, stacks, samples, carried=())
    assert found.functions
    assert found.rows == [("main", 10), ("Net::forward", 10)]
    places = places_of(StackIndex(frames, stacks), np.ones(len(stacks)))
    assert [places.all[places.of_stack[s]].label for s in samples.array("stack")] == ["main", "Net::forward"]


def test_sondes_own_files_inside_the_program_are_no_lines_of_the_user() -> None:
    """In a clone they are no site-package."""
    for file in ("redact.py", "rawfolder.py", "__init__.py", "record/inside/session.py"):
        assert not is_own("python", f"/home/me/sonde/{file}", False, ())
    assert is_own("python", "/home/me/sonde-experiments/train.py", False, ())
