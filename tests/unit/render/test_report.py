"""A written page holds the recording's sums, whatever had to be left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.ops.table import op_table
from sonde.errors import InputError, UsageError
from sonde.render.html import Insight, ReportOptions, write_diff_report, write_report
from sonde.render.html.judged import judged
from sonde.render.html.limits import LEVELS
from sonde.render.html.operators import KINDS
from sonde.render.html.report import build_payload
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from tests.fixtures.comparison import comparison_of
from tests.fixtures.synthetic import training_run
from tests.unit.render.reading import decode, read_page

RECORDING = training_run(steps=6)


def test_page_holds_all_samples_and_calls(tmp_path: Path) -> None:
    summary = write_report(RECORDING, tmp_path / "r.html")
    page = read_page(tmp_path / "r.html")["columns"]
    assert summary.sample_rows == len(RECORDING.table("samples")) == len(page["samples"]["time"])
    assert page["samples"]["weight"].sum() == RECORDING.table("samples").array("weight_ns").sum()
    assert len(page["ops"]["start"]) == len(RECORDING.table("ops"))
    assert summary.pruned == {}
    assert summary.size_bytes == (tmp_path / "r.html").stat().st_size


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_every_level_keeps_the_sums(level: int) -> None:
    payload, kept = build_payload(RECORDING, ReportOptions(), LEVELS[level], {})
    page = decode(payload.encode())["columns"]
    assert page["samples"]["weight"].sum() == RECORDING.table("samples").array("weight_ns").sum()
    assert page["samples"]["count"].sum() == len(RECORDING.table("samples"))
    for by in ("name", "shape", "module", "line", "thread", "phase"):
        told, table = (
            page[f"answer.ops.{by}"],
            op_table(RECORDING.table("ops"), RECORDING.table("memory"), by=by),
        )
        assert told["self_ms"].sum() == table.array("self_ns").sum()  # whole ns
        assert told["calls"].sum() == table.array("calls").sum()
        assert told["total_ms"].sum() == table.array("total_ns").sum()
    ops = RECORDING.table("ops")
    outer = ops.array("parent") < 0
    wall = int((ops.array("end_ns") - ops.array("start_ns"))[outer].sum())
    assert page["ops"]["self"].sum() + kept["ops"]["pruned_self_ns"] == wall
    # Every row points at something that is there, and parents come before children.
    stacks = page["stacks"]
    assert (stacks["parent"] < np.arange(len(stacks["parent"]))).all()
    assert page["samples"]["stack"].max() < len(stacks["parent"])
    assert stacks["frame"].max() < len(page["frames"]["function"])
    assert page["frames"]["function"].max() < len(page["functions"]["name"])


def test_on_a_busy_machine_the_page_counts_calls_as_the_operator_table_does() -> None:
    samples, ops = RECORDING.table("samples"), RECORDING.table("ops")
    looks = np.arange(int(ops.array("start_ns").min()), int(ops.array("end_ns").max()), 100_000_000)
    away = build.table(
        "samples",
        len(looks),
        time_ns=looks,
        thread=np.full(len(looks), int(ops.array("thread")[0])),
        stack=np.zeros(len(looks), np.int32),
        state=["waiting"] * len(looks),
        reason=["preempted"] * len(looks),
        weight_ns=np.full(len(looks), 60_000_000),
    )
    tables = {t.name: t for t in RECORDING.tables()}
    tables["samples"] = build.concat("samples", [samples, away])
    payload, _ = build_payload(Recording(RECORDING.meta, tables), ReportOptions(), LEVELS[0], {})
    page = decode(payload.encode())["columns"]
    table = op_table(ops, samples=tables["samples"])
    assert table.array("self_ns").sum() < 0.8 * table.array("self_wall_ns").sum()
    told, rows = page["answer.ops.name"], page["ops"]
    counts = (rows["counts"] > 0) & (
        page["calls"]["kind"][page["opnodes"]["call"][rows["node"]]] != KINDS.index("module")
    )
    # The whole recording's answer, and what the page sums itself for a range, are the same formula.
    for self_ns, total_ns in (
        (told["self_ms"].sum(), told["total_ms"].sum()),
        (
            (rows["self"] + rows["table_self_extra"])[counts].sum(),
            (rows["duration"] - rows["taken"])[counts].sum(),
        ),
    ):
        assert self_ns == table.array("self_ns").sum()
        assert total_ns == table.array("total_ns").sum()


def test_stack_of_a_sample_is_the_recorded_one() -> None:
    payload, _ = build_payload(RECORDING, ReportOptions(), LEVELS[0], {})
    page = decode(payload.encode())
    columns, strings = page["columns"], page["strings"]
    frames, stacks = RECORDING.table("frames"), RECORDING.table("stacks")
    samples = RECORDING.table("samples")
    order = np.argsort(samples.array("time_ns"), kind="stable")
    seen = set()
    for row, at in enumerate(order):
        if samples.array("time_ns")[order].tolist().count(samples.array("time_ns")[at]) > 1:
            continue  # rows of one moment may come in any order
        names, node = [], int(columns["samples"]["stack"][row])
        while node >= 0:
            function = columns["frames"]["function"][columns["stacks"]["frame"][node]]
            names.append(strings[columns["functions"]["name"][function]])
            node = int(columns["stacks"]["parent"][node])
        expected, node = [], int(samples.array("stack")[at])
        while node >= 0:
            expected.append(frames.text("name")[int(stacks.array("frame")[node])])
            node = int(stacks.array("parent")[node])
        assert names == expected
        seen.add(tuple(names))
        if len(seen) > 20:
            break
    assert len(seen) > 5


def test_a_small_budget_prunes_and_says_so(tmp_path: Path) -> None:
    whole = write_report(RECORDING, tmp_path / "whole.html")
    bundle = whole.size_bytes - len((tmp_path / "whole.html").read_text().partition("octet-stream")[2])
    assert bundle > 0
    small = write_report(
        training_run(steps=200, sample_hz=2000), tmp_path / "s.html", ReportOptions(max_size_bytes=330_000)
    )
    assert small.size_bytes <= 330_000
    assert small.detail_level > 0
    assert "samples" in small.pruned


def test_an_impossible_budget_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="smallest report") as caught:
        write_report(RECORDING, tmp_path / "r.html", ReportOptions(max_size_bytes=1000))
    assert "--max-size" in (caught.value.hint or "")
    assert not (tmp_path / "r.html").exists()


def test_secrets_and_source_stay_out(tmp_path: Path) -> None:
    write_report(RECORDING, tmp_path / "r.html", ReportOptions(no_source=True))
    page = read_page(tmp_path / "r.html")
    assert page["facts"]["meta"]["environment"]["HF_TOKEN"] == "***"
    assert page["facts"]["source"]["files"] == []
    write_report(RECORDING, tmp_path / "r.html")
    named = [page["strings"][f["file"]] for f in read_page(tmp_path / "r.html")["facts"]["source"]["files"]]
    assert [Path(n).name for n in named] == ["gpt.py"]  # not the installed torch files


def test_equal_recordings_give_equal_pages(tmp_path: Path) -> None:
    write_report(RECORDING, tmp_path / "a.html")
    write_report(training_run(steps=6), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_an_empty_recording_has_a_page(tmp_path: Path) -> None:
    summary = write_report(Recording(Meta(program="nothing.py")), tmp_path / "e.html")
    assert summary.samples == 0
    assert read_page(tmp_path / "e.html")["facts"]["title"] == "nothing.py"


def test_the_page_ends_its_insights_with_what_is_left_or_that_there_is_nothing(tmp_path: Path) -> None:
    said = judged(training_run())
    assert said.closing is not None
    assert said.closing.endswith("rules looked.")
    claims = [card for card in said.insights if not card["pointer"]]
    assert said.closing.startswith(
        ("Nothing", "No finding", "No rule") if not claims else "A steady step takes"
    )
    write_report(training_run(), tmp_path / "r.html", ReportOptions(closing=said.closing))
    assert read_page(tmp_path / "r.html")["facts"]["closing"] == said.closing


def _damaged(parents: list[int]) -> Recording:
    return Recording(
        Meta(),
        {
            "frames": build.table("frames", frame=[5], layer=["python"], name=["f"]),
            "stacks": build.table("stacks", stack=[1, 2, 3], parent=parents, frame=[5, 5, 7], depth=[1] * 3),
            "samples": build.table(
                "samples", time_ns=[1, 2, 3], thread=[0, 0, 9], stack=[3, 77, -1], weight_ns=[1, 1, 1]
            ),
            "ops": build.table(
                "ops", op=[4, 4], parent=[-1, 8], start_ns=[5, 9], end_ns=[1, 20], name=["a", "b"]
            ),
        },
    )


def test_damaged_pointers_do_not_break_the_page(tmp_path: Path) -> None:
    write_report(_damaged([-1, 1, 99]), tmp_path / "d.html")
    page = read_page(tmp_path / "d.html")["columns"]
    assert page["samples"]["weight"].sum() == 3
    assert page["ops"]["duration"].min() >= 0


def test_stacks_in_a_circle_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="circle"):
        write_report(_damaged([2, 1, 99]), tmp_path / "d.html")


def test_hostile_names_cannot_leave_the_data_block(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><!--\0\u202e"
    recording = Recording(
        Meta(program=evil),
        {
            "frames": build.table("frames", frame=[0], layer=["python"], name=[evil], file=[evil]),
            "stacks": build.table("stacks", stack=[0], parent=[-1], frame=[0], depth=[1]),
            "samples": build.table("samples", time_ns=[1], thread=[0], stack=[0], weight_ns=[1]),
        },
    )
    write_report(recording, tmp_path / "e.html", ReportOptions(insights=[Insight(evil, evil, evil, evil)]))
    text = (tmp_path / "e.html").read_text()
    assert "alert(1)</script>" not in text
    assert text.count("</script>") == 2  # the data's and the program's


def test_diff_page_holds_both(tmp_path: Path) -> None:
    slow = training_run(steps=6, slow=2.0)
    told = comparison_of(RECORDING, slow)
    write_diff_report(RECORDING, slow, tmp_path / "d.html", told)
    assert read_page(tmp_path / "d.html", "sonde-data-b")["facts"]["comparison"] == told
    first = read_page(tmp_path / "d.html", "sonde-data")["columns"]
    second = read_page(tmp_path / "d.html", "sonde-data-b")["columns"]
    assert first["samples"]["weight"].sum() < second["samples"]["weight"].sum()


def test_the_roof_is_the_one_measured_where_it_was_recorded(tmp_path: Path) -> None:
    write_report(RECORDING, tmp_path / "r.html")
    assert read_page(tmp_path / "r.html")["facts"]["roof"] == {"peak": 152e9, "bandwidth": 14e9, "threads": 2}
    write_report(Recording(Meta(machine={"roofs": {"peaks": "?"}})), tmp_path / "e.html")
    assert read_page(tmp_path / "e.html")["facts"]["roof"] is None
