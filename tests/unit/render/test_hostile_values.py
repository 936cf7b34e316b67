"""What fuzzing tables found: values that no program writes, in recordings whose checksums and links are right."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from sonde.columns import Table, Text
from sonde.errors import InputError
from sonde.insights.engine import judge
from sonde.store import build, links
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from tests.fixtures.device_run import device_run
from tests.fixtures.synthetic import training_run
from tests.fuzz.consumers import CONSUMERS, consume
from tests.unit.store import recordings

FACTS = (
    "[]", "7", "{", '{"file": 7, "line": "x", "ops": [], "fused": 3, "sources": [1], "kernel": [], "direction": {}}',
    '{"threads": "x", "cpu_flags": 3, "scheduling": {"seconds": "x", "most_moves": []}, "numa_bytes": {"0": null}}',
    '{"cpu_ns": [], "parameter": 3, "gradient": [[1]], "state": [["x", 1e400]], "optimizers": 7, "loaders": [3]}',
)  # fmt: skip


@pytest.mark.parametrize("kind", ["compile", "settings", "tensors", "overhead_on", "overhead_off", "phase"])
def test_json_in_marks_may_be_anything(kind: str, tmp_path: Path) -> None:
    base = training_run(4, 60)
    marks = base.table("marks")
    count = len(FACTS) * 3
    rows = build.table(
        "marks",
        count,
        mark=np.arange(count) + int(marks.array("mark").max()) + 1,
        process=np.zeros(count),
        kind=Text.full(count, kind),
        name=Text.of(["f", "kernel", "graph_break"] * len(FACTS)),
        extra=Text.of([fact for fact in FACTS for _ in range(3)]),
        start_ns=marks.array("start_ns")[np.arange(count) % len(marks)],
        end_ns=marks.array("end_ns")[np.arange(count) % len(marks)],
    )
    tables = {t.name: t for t in base.tables()}
    tables["marks"] = Table("marks", {c: _both(marks, rows, c) for c in marks})
    recording = Recording(base.meta, tables)
    assert consume(recording, random.Random(1), tmp_path, len(CONSUMERS)) in ("clean", "with losses")


def _both(first: Table, second: Table, column: str) -> np.ndarray | Text:
    if isinstance(first.columns[column], Text):
        return Text.concat([first.text(column), second.text(column)])
    return np.concatenate([first.array(column), second.array(column)])


def test_a_view_with_no_rows_left_names_no_operator(tmp_path: Path) -> None:
    from sonde.render.text import show
    from sonde.render.text.page import Page
    from sonde.views import VIEWS
    from sonde.views.options import ShowOptions

    asked = ShowOptions(limit=0)
    with (tmp_path / "page").open("w") as stream:
        show("ops", VIEWS["ops"].data(recordings.recording(), asked), Page(stream), asked)
    assert "chain --op" not in (tmp_path / "page").read_text()


def test_copies_without_a_name_have_no_direction(tmp_path: Path) -> None:
    base = device_run(3)
    kernels = base.table("kernels")
    tables = {t.name: t for t in base.tables()}
    kind = Text.full(len(kernels), "memcpy")
    tables["kernels"] = kernels.with_columns(name=Text.full(len(kernels), None), kind=kind)
    CONSUMERS["report"](Recording(base.meta, tables), random.Random(1), tmp_path)


def test_devices_that_did_nothing_have_no_verdict() -> None:
    kernels = build.table(
        "kernels", kernel=[0], process=[0], kind=["annotation"], name=["x"], start_ns=[0], end_ns=[1]
    )
    report = judge(Recording(Meta(source="kineto"), {"kernels": kernels}))
    assert report.bound is None
    assert report.failed == {}


def test_times_beyond_all_clocks_and_nodes_without_a_frame_are_refused() -> None:
    """Two sums of them would be other times: samples at the last nanosecond kept `moments` in an endless loop."""
    tables = recordings.tables()
    late = tables["samples"].with_columns(time_ns=np.array([1, 2, 3, 2**63 - 1]))
    with pytest.raises(InputError, match="row 3 of table samples is damaged: time_ns is 9223372036854775807"):
        links.check(late, lambda _: 10)
    bare = tables["stacks"].with_columns(frame=np.array([0, -1, 2]))
    with pytest.raises(InputError, match="row 1 of table stacks is damaged: it has no frame"):
        links.check(bare, lambda _: 10)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300])
def test_counters_without_a_number_or_a_name_are_exported(value: float, tmp_path: Path) -> None:
    counters = build.table("counters", time_ns=[1, 2], process=[0, 0], name=["rss", None], value=[value, 7])
    recording = Recording(Meta(), {**recordings.tables(), "counters": counters})
    for name in ("export perfetto", "export chrome", "report"):
        CONSUMERS[name](recording, random.Random(1), tmp_path)
