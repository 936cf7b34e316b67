"""What the page is told is what the text views say: devices, notes, memory by window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sonde.analyze.recording.notes import notes
from sonde.render.html import ReportOptions
from sonde.render.html.limits import LEVELS
from sonde.render.html.report import build_payload
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from sonde.views.tabular import view_columns
from tests.fixtures.device_run import device_run
from tests.fixtures.made_job import job_run
from tests.unit.render.reading import decode


def page_of(recording: Recording, level: int = 0) -> dict[str, Any]:
    payload, _ = build_payload(recording, ReportOptions(), LEVELS[level], {})
    return decode(payload.encode())


@pytest.mark.parametrize("level", [0, len(LEVELS) - 1])
def test_devices_and_their_idle_time_are_those_of_show_gpu_however_much_is_pruned(level: int) -> None:
    recording = device_run()
    said = VIEWS["gpu"].data(recording, ShowOptions())["devices"]
    told = page_of(recording, level)["facts"]["answers"]["gpu"]["devices"]
    assert len(said) == 2
    assert told == said
    for row in told:
        split = sum(row[f"idle_{cause}_ms"] for cause in ("host", "kernel", "sync", "other"))
        assert split == pytest.approx(row["idle_ms"])


@pytest.mark.parametrize("name", [name for name, view in VIEWS.items() if view.tab])
def test_the_rows_of_a_plain_tab_are_in_the_page(name: str) -> None:
    recording = job_run()
    rows = VIEWS[name].data(recording, ShowOptions(whole=True))[VIEWS[name].rows]
    table = page_of(recording)["columns"][f"answer.{name}"]
    assert rows
    assert {len(column) for column in table.values()} == {len(rows)}
    assert set(table) == {column.key for column in view_columns(name)}
    assert list(table["calls"]) == [row["calls"] for row in rows]


def test_notes_are_facts_of_the_page() -> None:
    recording = device_run()
    assert page_of(recording)["facts"]["notes"] == []
    recording.meta.details["notes"] = ["rank 2 is missing"]
    assert page_of(recording)["facts"]["notes"] == ["rank 2 is missing"]


def test_printed_primitives_are_noted_where_operators_were_timed_with_them() -> None:
    tables = {
        "ops": build.table("ops", op=[0], name=["aten::mm"], kind=["op"], start_ns=[0], end_ns=[5]),
        "primitives": build.table("primitives", 1),
    }
    table = Recording(Meta(), tables).table
    (said,) = notes({}, {"primitives": True}, table)
    assert said.startswith("oneDNN and MKL printed every call inside the windows (--primitives)")
    assert notes({}, {"primitives": False}, table) == []
    assert notes({}, {"primitives": True}, Recording(Meta()).table) == []


def two_windows() -> Recording:
    """A block of 100 bytes that the first window's end cuts off, and one of 40 bytes in the second window."""
    rows = [(10, 1, 100, 0), (20, 2, 50, 0), (30, 2, -50, 0), (1010, 3, 40, 0), (1040, 3, -40, 0)]
    memory = build.table(
        "memory",
        time_ns=[r[0] for r in rows],
        thread=np.zeros(len(rows), np.int32),
        device=["cpu"] * len(rows),
        address=[r[1] for r in rows],
        bytes=[r[2] for r in rows],
        op=[r[3] for r in rows],
    )
    marks = build.table(
        "marks",
        mark=[0, 1, 2, 3],
        process=[0] * 4,
        thread=[0] * 4,
        kind=["window", "window", "phase", "phase"],
        name=["", "", "forward", "backward"],
        start_ns=[0, 1000, 0, 60],
        end_ns=[90, 1090, 60, 90],
    )
    ops = build.table("ops", op=[0], thread=[0], name=["aten::mm"], kind=["op"], start_ns=[0], end_ns=[50])
    threads = build.table("threads", thread=[0], process=[0], kind=["main"])
    processes = build.table("processes", process=[0], pid=[1], start_ns=[0], end_ns=[2000])
    return Recording(
        Meta(), {"memory": memory, "marks": marks, "ops": ops, "threads": threads, "processes": processes}
    )


def test_no_level_of_memory_is_carried_from_one_window_to_the_next() -> None:
    columns = page_of(two_windows())["columns"]["memory"]
    curve = list(zip(columns["window"].tolist(), columns["allocated"].tolist(), strict=True))
    assert curve == [(0, 100), (0, 150), (0, 100), (1, 40)]


def test_what_held_memory_at_the_peak_has_the_categories_of_show_memory() -> None:
    recording = two_windows()
    (device,) = VIEWS["memory"].data(recording, ShowOptions())["devices"]
    page = page_of(recording)
    (peak,) = page["facts"]["peaks"]
    assert peak["bytes"] == device["peak_bytes"] == 150
    names = page["strings"]
    found: dict[str, int] = {}
    for op, _, category, size, _ in peak["rows"]:
        assert names[op] == "aten::mm"
        found[names[category]] = found.get(names[category], 0) + size
    assert found == device["by_category"] == {"activation": 100, "temporary": 50}
