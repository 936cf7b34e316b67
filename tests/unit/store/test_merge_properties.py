"""Merging never loses, invents or reorders a frame, whatever the two stacks look like."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.columns import Table
from sonde.ingest.agent import assemble
from tests.unit.ingest.logs import LogBuilder

EVAL = "_PyEval_EvalFrameDefault"
NATIVE = st.lists(st.sampled_from([EVAL, "a", "b", "c"]), max_size=8)
PYTHON = st.lists(st.tuples(st.sampled_from(["f", "g", "h"]), st.booleans()), max_size=6)


def layers(tables: dict[str, Table], row: int) -> dict[str | None, list[str | None]]:
    """Frame names of a sample's stack by layer, root first."""
    parent, frame = tables["stacks"].array("parent"), tables["stacks"].array("frame")
    layer, name = tables["frames"].text("layer"), tables["frames"].text("name")
    found: dict[str | None, list[str | None]] = {}
    stack = int(tables["samples"].array("stack")[row])
    while stack >= 0:
        found.setdefault(layer[int(frame[stack])], []).insert(0, name[int(frame[stack])])
        stack = int(parent[stack])
    return found


def add_python(log: LogBuilder, chain: list[tuple[str, bool]]) -> int:
    node = 0
    for name, entry in chain:
        node = log.python(name, parent=node, entry=(name,) if entry else ())
    return node


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(NATIVE, PYTHON), min_size=1, max_size=5))
def test_every_frame_of_both_stacks_is_kept_in_order(
    samples: list[tuple[list[str], list[tuple[str, bool]]]],
) -> None:
    log = LogBuilder()
    for moment, (native, python) in enumerate(samples):
        log.sample(native=log.native(*native), python=add_python(log, python), time_ns=moment)
    tables = assemble([log.build()], log.names())
    assert len(tables["samples"]) == len(samples)
    for row, (native, python) in enumerate(samples):
        found = layers(tables, row)
        assert found.get("native", []) == native
        assert found.get("python", []) == [name for name, _ in python]


@settings(max_examples=100, deadline=None)
@given(NATIVE, NATIVE, PYTHON)
def test_a_worker_keeps_its_owner_above_the_boundary(
    worker: list[str], owner: list[str], python: list[tuple[str, bool]]
) -> None:
    log = LogBuilder(threads=[(0, 1, 1, "main", 0), (1, 2, 0, "worker", 0)])
    leaf, at = log.native(*worker), log.native(*owner)
    log.sample(thread=1, native=leaf, owner=0, owner_native=at, python=add_python(log, python))
    found = layers(assemble([log.build()], log.names()), 0)
    if worker or owner or python:
        assert found.get("native", []) == owner + worker
        assert found.get("python", []) == [name for name, _ in python]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 3))
def test_matching_counts_put_each_python_segment_below_its_evaluation_frame(
    segments: list[int], native_between: int
) -> None:
    log = LogBuilder()
    native: list[str] = ["start"]
    python: list[tuple[str, bool]] = []
    wanted: list[str] = ["start"]
    for number, length in enumerate(segments):
        native += [EVAL, *(f"n{number}_{k}" for k in range(native_between))]
        names = [f"p{number}_{k}" for k in range(length)]
        python += [(name, k == 0) for k, name in enumerate(names)]
        wanted += [EVAL, *names, *(f"n{number}_{k}" for k in range(native_between))]
    log.sample(native=log.native(*native), python=add_python(log, python))
    tables = assemble([log.build()], log.names())
    parent, frame = tables["stacks"].array("parent"), tables["stacks"].array("frame")
    name = tables["frames"].text("name")
    stack, got = int(tables["samples"].array("stack")[0]), []
    while stack >= 0:
        got.insert(0, name[int(frame[stack])])
        stack = int(parent[stack])
    assert got == wanted
    assert len(tables["losses"]) == 0
