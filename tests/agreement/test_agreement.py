"""One question, one answer: text, JSON, SQL and the report (read in a browser) show equal numbers."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sonde.compare.profile import pace_of
from sonde.errors import SondeError
from sonde.insights.engine import judge
from sonde.render.html import ReportOptions, write_diff_report, write_report
from sonde.render.html.judged import judged
from sonde.render.text import show
from sonde.render.text.page import Page
from sonde.render.text.summary import show_summary
from sonde.render.text.units import count, milliseconds, percent
from sonde.store import query
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from sonde.views.tabular import made_tables, view_columns
from tests.agreement.page_format import page_count, page_percent, page_time
from tests.agreement.recordings import RECORDINGS
from tests.fixtures.comparison import comparison_of
from tests.fixtures.synthetic import training_run

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("SONDE_CHROMIUM", "/usr/bin/chromium")
pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.skipif(
        not Path(CHROMIUM).exists(), reason=f"needs Chromium at {CHROMIUM} (apt-get install chromium)"
    ),
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js"),
    pytest.mark.skipif(
        not (ROOT / "web" / "node_modules" / "playwright-core").exists(),
        reason="needs playwright-core (npm install in web/)",
    ),
]
NAMES = list(RECORDINGS)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recording]:
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in RECORDINGS.items()}


@pytest.fixture(scope="module")
def comparison() -> dict[str, Any]:
    return comparison_of(training_run(), training_run(seed=8, slow=10.0))


@pytest.fixture(scope="module")
def pages(
    recordings: dict[str, Recording], comparison: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What each report shows, by the name of its recording."""
    folder = tmp_path_factory.mktemp("pages")
    for name, recording in recordings.items():
        said = judged(recording)
        options = ReportOptions(insights=said.insights, taken_away=said.taken_away, closing=said.closing)
        write_report(recording, folder / f"{name}.html", options)
    write_diff_report(training_run(), training_run(seed=8, slow=10.0), folder / "diff.html", comparison)
    files = [str(folder / f"{name}.html") for name in (*recordings, "diff")]
    script = str(ROOT / "tests" / "agreement" / "read.mjs")
    done = subprocess.run(["node", script, *files], capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {Path(file).stem: seen for file, seen in json.loads(done.stdout).items()}


def data(recording: Recording, name: str, **options: Any) -> dict[str, Any]:
    return VIEWS[name].data(recording, ShowOptions(**options))


def text(recording: Recording, name: str, **options: Any) -> str:
    stream = io.StringIO()
    asked = ShowOptions(**options)
    show(name, VIEWS[name].data(recording, asked), Page(stream), asked)
    return stream.getvalue()


def rows_of(table: dict[str, Any]) -> list[dict[str, str]]:
    """The rows of a table's CSV, by what its head calls the columns."""
    _, *lines = csv.reader(io.StringIO(table["csv"]))
    return [dict(zip(table["head"], line, strict=True)) for line in lines]


def is_printed(line_parts: list[str], printed: str) -> bool:
    return any(all(part in line for part in line_parts) for line in printed.splitlines())


@pytest.mark.parametrize("name", NAMES)
def test_sql_is_json(name: str, recordings: dict[str, Recording]) -> None:
    recording = recordings[name]
    for view, known in VIEWS.items():
        if known.sql is None:
            continue
        sql = f"SELECT * FROM {known.sql}"
        try:
            told = data(recording, view)[known.rows]
        except SondeError:  # no roof of the machine that it ran on
            assert view == "roofline"
            continue
        with query.Session(recording, sql, made_tables()) as session:
            found = [list(row) for row in session.ask(sql).rows]
        keys = [column.key for column in view_columns(view)]
        assert found == [[row[key] for key in keys] for row in told], view


@pytest.mark.parametrize("name", NAMES)
def test_text_is_json(name: str, recordings: dict[str, Recording]) -> None:
    recording = recordings[name]
    ops = data(recording, "ops")
    printed = text(recording, "ops", limit=10_000)
    for row in ops["rows"]:
        share = row["self_ms"] / (ops["self_ms"] or 1.0)
        parts = [row["name"], percent(share), milliseconds(row["self_ms"]), milliseconds(row["total_ms"])]
        assert is_printed([*parts, *([] if row["calls"] is None else [count(row["calls"])])], printed), row
    threads = text(recording, "threads", limit=10_000)
    for row in data(recording, "threads")["rows"]:
        assert is_printed(
            [str(row["tid"]), milliseconds(row["running_ms"]), milliseconds(row["waiting_ms"])], threads
        )
    waits = data(recording, "waits")
    printed = text(recording, "waits", limit=10_000)
    for row in waits["rows"]:
        assert is_printed([row["reason"], milliseconds(row["waiting_ms"]), count(row["waits"])], printed)
    stacks = data(recording, "stacks")
    printed = text(recording, "stacks", limit=10_000)
    for row in stacks["hot"]:
        assert is_printed([row["name"], milliseconds(row["self_ms"]), milliseconds(row["total_ms"])], printed)
    assert data(recording, "verdict")["sentence"] in text(recording, "verdict")


@pytest.mark.parametrize("name", NAMES)
def test_views_share_one_step_one_verdict_and_one_sum(name: str, recordings: dict[str, Recording]) -> None:
    recording = recordings[name]
    steps, verdict, report = data(recording, "steps"), data(recording, "verdict"), judge(recording)
    assert verdict["word"] == (report.bound.word if report.bound else None)
    stream = io.StringIO()
    show_summary(recording, Page(stream), "REC")
    if len(recording.table("samples")):
        assert verdict["sentence"].rstrip(".") in stream.getvalue()
    if steps["count"] and not len(recording.table("kernels")):
        assert f"takes {milliseconds(steps['median_ms'])}" in stream.getvalue()
        assert sum(steps["phase_ms"].values()) == pytest.approx(steps["median_ms"])
        if report.step_ms is not None:
            assert report.step_ms == pytest.approx(steps["median_ms"])
        walls = sorted(
            s["ms"] + s["taken_ms"]
            for s in steps["steps"][steps["warmup"] :]
            if not (steps["left_out"] and s["in_window"])
        )
        assert sorted(pace_of(recording.table, by_step=True).wall_ms.tolist()) == pytest.approx(walls)
    threads, stacks = data(recording, "threads"), data(recording, "stacks")
    assert sum(row["on_cpu_ms"] for row in threads["rows"]) == pytest.approx(
        stacks["on_cpu_ms"], rel=1e-9, abs=1e-6
    )
    waits = data(recording, "waits")
    off = sum(row["waiting_ms"] for row in threads["rows"])
    assert sum(waits["reasons"].values()) + waits["profilers_ms"] == pytest.approx(off, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_report_says_the_verdict_and_the_step_of_the_terminal(
    name: str, recordings: dict[str, Recording], pages: dict[str, Any]
) -> None:
    recording, seen = recordings[name], pages[name]
    sentence = data(recording, "verdict")["sentence"]
    assert seen["verdict"] == sentence
    assert sentence in seen["guide"]
    assert seen["short"].startswith("Not judged: ")
    steps = data(recording, "steps")
    if steps["count"]:
        assert f"median {page_time(steps['median_ms'] * 1e6)}" in seen["steps"]
        assert f"{page_count(steps['count'])} steps" in seen["steps"]
        assert (f"first {steps['warmup']} warm-up" in seen["steps"]) == bool(steps["warmup"])
    taken = steps["taken_away"]
    assert seen["taken"] == ([taken["sentence"]] if taken["sentence"] else [])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", ["name", "shape"])
def test_the_reports_operators_are_those_of_the_terminal(
    name: str, by: str, recordings: dict[str, Recording], pages: dict[str, Any]
) -> None:
    recording = recordings[name]
    table = pages[name][f"ops_{by}"]
    if by != "name" and not len(recording.table("ops")):  # only recorded calls have shapes
        assert table is None or not rows_of(table)
        return
    answer = data(recording, "ops", by=by)
    if table is None:
        assert not answer["rows"]
        return
    found = {(row["name"], row.get("key", "")): row for row in rows_of(table)}
    for row in answer["rows"]:
        mine = found[row["name"], (row["key"] or "") if by != "name" else ""]
        for key in (
            "self_ms",
            "total_ms",
            "calls",
            "device_self_ms",
            "device_total_ms",
            "cpu_mem_bytes",
            "preempted",
        ):
            if key in mine and row[key] is not None:
                assert float(mine[key]) == row[key], (row["name"], key)
    drawn = {cells[0]: dict(zip(table["head"], cells, strict=True)) for cells in table["drawn"]}
    for row in answer["rows"] if by == "name" else ():
        if row["name"] in drawn and row["kind"] != "annotation":
            share = page_percent(row["self_ms"] / (answer["self_ms"] or 1.0))
            assert drawn[row["name"]]["self_ms"] == f"{page_time(row['self_ms'] * 1e6)}  {share}"


@pytest.mark.parametrize("name", NAMES)
def test_the_reports_functions_are_those_of_the_terminal(
    name: str, recordings: dict[str, Recording], pages: dict[str, Any]
) -> None:
    recording = recordings[name]
    hot = data(recording, "stacks", native=True, whole=True)["hot"]
    if not hot:
        return
    told: dict[str, float] = {}
    for row in hot:
        label = (
            row["name"].split("] ", 1)[1]
            if row["name"].startswith("[") and "] " in row["name"]
            else row["name"]
        )
        label = label.rsplit(" (", 1)[0] if row["layer"] == "python" else label
        told[label] = told.get(label, 0.0) + row["self_ms"]
    shown: dict[str, float] = {}
    for line in rows_of(pages[name]["functions"]):
        # The report tells modules apart by their file.
        label = "<module>" if line["name"].startswith("<module> ") else line["name"]
        shown[label] = shown.get(label, 0.0) + float(line["self"]) / 1e6
    largest = sorted(told, key=lambda label: -told[label])[:40]
    assert largest
    for label in largest:
        if told[label]:
            assert shown.get(label, 0.0) == pytest.approx(told[label], rel=1e-6), label


@pytest.mark.parametrize("name", NAMES)
def test_the_report_sums_a_range_of_functions_by_the_same_formula(name: str, pages: dict[str, Any]) -> None:
    whole, part = pages[name]["functions"], pages[name]["functions_in_range"]
    if whole is None:
        assert part is None
        return
    told, summed = (
        sorted(
            (r["name"], r["where"], float(r["self"]), float(r["total"]), float(r["count"]))
            for r in rows_of(t)
        )
        for t in (whole, part)
    )
    assert told == summed


@pytest.mark.parametrize("name", NAMES)
def test_the_reports_losses_and_devices_are_those_of_the_terminal(
    name: str, recordings: dict[str, Recording], pages: dict[str, Any]
) -> None:
    recording, seen = recordings[name], pages[name]
    losses = data(recording, "losses")["rows"]
    assert len(seen["losses"]) == len(losses)
    for row in losses:
        assert any(
            line.startswith(f"{row['cause']}: {page_count(row['count'])} {row['unit']}")
            for line in seen["losses"]
        )
    lost = sum(row["count"] for row in losses if row["unit"] == "samples")
    if "Lost samples" in seen["quality"]:
        assert seen["quality"]["Lost samples"].startswith(f"{page_count(lost)} ")
    if not len(recording.table("kernels")):
        assert seen["devices"] is None
        return
    devices = data(recording, "gpu")["devices"]
    shown = rows_of(seen["devices"])
    assert len(shown) == len(devices)
    for one, row in zip(sorted(shown, key=lambda r: r["device"]), devices, strict=True):
        for key in ("window_ms", "busy_ms", "idle_ms", "idle_host_ms", "compute_ms", "copy_ms"):
            assert float(one[key]) == pytest.approx(row[key], rel=1e-9), key


def test_the_reports_diff_is_that_of_the_terminal(pages: dict[str, Any], comparison: dict[str, Any]) -> None:
    seen = pages["diff"]
    assert seen["headline"] == comparison["headline"]
    assert seen["notes"] == comparison["notes"]
    told = {row["name"] for row in comparison["rows"]}
    assert {row["name"] for row in rows_of(seen["diff"])} <= told
