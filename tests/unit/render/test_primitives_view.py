"""`sonde show LOG primitives` and `roofline`: the rows for programs, the page for people."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest

from sonde.errors import EnvironmentLacks, InputError, UsageError
from sonde.ingest.verbose import onednn_log
from sonde.machine import facts, roofs
from sonde.render.text import show
from sonde.render.text.page import Page
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions

DATA = Path(__file__).resolve().parents[2] / "data" / "onednn"
ROOFS = {
    "format": 1,
    "machine": "m",
    "when": "2026",
    "source": "native",
    "seconds": 1.0,
    "peaks": [{"name": "f32", "threads": 1, "best": 100e9, "median": 90e9, "samples": 9}],
    "bandwidths": [{"name": "memory", "threads": 1, "best": 10e9, "median": 9e9, "samples": 9}],
}


@pytest.fixture(scope="module")
def lstm() -> Recording:
    return onednn_log.read(DATA / "torch_2.13_lstm.log.gz")


def test_rows_have_the_documented_keys_and_add_up(lstm: Recording) -> None:
    found = VIEWS["primitives"].data(lstm, ShowOptions())
    assert {"kind", "implementation", "shape", "calls", "total_ms", "flops", "bytes"} <= set(found["rows"][0])
    assert math.fsum(r["total_ms"] for r in found["rows"]) == pytest.approx(found["total_ms"])
    json.dumps(found, allow_nan=False)


def test_the_reference_lstm_is_called_weak(lstm: Recording) -> None:
    found = VIEWS["primitives"].data(lstm, ShowOptions())
    assert (found["weak"][0]["issue"], found["weak"][0]["kind"]) == ("reference", "rnn")


def test_the_page_names_the_isa_and_the_weak_kernels(lstm: Recording) -> None:
    stream = io.StringIO()
    show(
        "primitives", VIEWS["primitives"].data(lstm, ShowOptions(limit=2)), Page(stream), ShowOptions(limit=2)
    )
    assert "effective ISA: Intel AVX2" in stream.getvalue()
    assert "kernels that could be better" in stream.getvalue()
    assert "more rows (use --limit)" in stream.getvalue()


def test_grouping_and_filter(lstm: Recording) -> None:
    kinds = VIEWS["primitives"].data(lstm, ShowOptions(by="kind"))["rows"]
    assert sorted(r["kind"] for r in kinds) == ["reorder", "rnn"]
    assert len(VIEWS["primitives"].data(lstm, ShowOptions(by="kind", filter="rnn"))["rows"]) == 1
    with pytest.raises(UsageError, match="group primitives by 'color'"):
        VIEWS["primitives"].data(lstm, ShowOptions(by="color"))


def test_work_is_held_against_the_roofs_recorded_with_it(lstm: Recording) -> None:
    recording = Recording(Meta(machine={"roofs": ROOFS}), {"primitives": lstm.table("primitives")})
    found = VIEWS["roofline"].data(recording, ShowOptions())
    row = next(r for r in found["primitives"] if r["implementation"] == "ref")
    assert row["roof_ms"] == pytest.approx(max(row["flops"] / 100e9, row["bytes"] / 10e9) * 1e3)
    assert row["efficiency"] == pytest.approx(row["roof_ms"] / row["total_ms"])
    assert found["ridge"] == 10.0
    stream = io.StringIO()
    show("roofline", found, Page(stream), ShowOptions())
    assert "recorded with the program" in stream.getvalue()
    json.dumps(found, allow_nan=False)


def test_work_of_another_machine_is_not_held_against_this_one(lstm: Recording, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="no roofline was measured for the machine that this ran on"):
        VIEWS["roofline"].data(lstm, ShowOptions())
    elsewhere = Recording(
        Meta(machine={"id": "other", "cpu": "EPYC"}), {"primitives": lstm.table("primitives")}
    )
    with pytest.raises(EnvironmentLacks, match="EPYC"):
        VIEWS["roofline"].data(elsewhere, ShowOptions())
    given = tmp_path / "roofs.json"
    given.write_text(json.dumps(ROOFS))
    found = VIEWS["roofline"].data(elsewhere, ShowOptions(roof=str(given)))
    assert found["roof"]["origin"] == f"from {given}"
    given.write_text("[]")
    with pytest.raises(InputError, match="holds no roofs"):
        VIEWS["roofline"].data(elsewhere, ShowOptions(roof=str(given)))


def test_this_machine_is_used_when_asked_for_and_says_so(
    lstm: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here = roofs.machine_id(facts.gather())
    roofs.save(roofs.from_json({**ROOFS, "machine": here}, tmp_path))
    found = VIEWS["roofline"].data(lstm, ShowOptions(roof="here"))
    assert found["roof"]["origin"] == "measured here 2026; the work ran elsewhere"
    mine = Recording(Meta(machine={"id": here}), {"primitives": lstm.table("primitives")})
    assert VIEWS["roofline"].data(mine, ShowOptions())["roof"]["origin"] == "measured here 2026"


def test_an_empty_recording_says_how_to_record() -> None:
    stream = io.StringIO()
    empty = Recording(Meta(machine={"roofs": ROOFS}))
    show("primitives", VIEWS["primitives"].data(empty, ShowOptions()), Page(stream), ShowOptions())
    show("roofline", VIEWS["roofline"].data(empty, ShowOptions()), Page(stream), ShowOptions())
    assert "--primitives" in stream.getvalue()
    assert "--window all" in stream.getvalue()
