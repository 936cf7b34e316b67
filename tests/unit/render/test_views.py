"""Text views over a recording with known answers: the JSON and the printed page."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.render.text import show
from sonde.render.text.page import Page
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.fixtures.synthetic import training_run
from tests.unit.store import recordings


def view(name: str, recording: Recording, **options: Any) -> tuple[dict[str, Any], str]:
    asked = ShowOptions(**options)
    found = VIEWS[name].data(recording, asked)
    stream = io.StringIO()
    show(name, found, Page(stream), asked)
    json.dumps(found, allow_nan=False)
    return found, stream.getvalue()


@pytest.mark.parametrize("name", list(VIEWS))
def test_every_view_has_an_answer_for_an_empty_recording(name: str) -> None:
    _, text = view(name, Recording(Meta()))
    assert text.strip()


def test_ops_show_self_total_and_calls() -> None:
    found, text = view("ops", recordings.recording())
    assert [(r["name"], r["calls"], r["self_ms"], r["total_ms"]) for r in found["rows"]] == [
        ("aten::linear", 1, 7.0, 10.0), ("aten::addmm", 1, 3.0, 3.0),
    ]  # fmt: skip
    assert "70.0 %" in text
    assert "Self CPU time total: 10.0 ms" in text


def test_ops_filter_and_sort() -> None:
    found, _ = view("ops", recordings.recording(), filter="addmm", sort="total_ms")
    assert [r["name"] for r in found["rows"]] == ["aten::addmm"]
    with pytest.raises(UsageError, match="regular expression"):
        view("ops", recordings.recording(), filter="(")
    with pytest.raises(UsageError, match="cannot sort"):
        view("ops", recordings.recording(), sort="beauty")


def test_ops_native_says_where_each_operator_spent_its_own_time() -> None:
    found, text = view("ops", training_run(), native=True, filter="^aten::_addmm_impl")
    (row,) = found["rows"]
    parts = {p["name"]: p for p in row["native"]["parts"]}
    assert parts["kernel"]["share"] > 0.5
    assert parts["kernel"]["low"] < parts["kernel"]["share"] <= parts["kernel"]["high"]
    assert sum(p["samples"] for p in parts.values()) == row["native"]["samples"]
    assert "[jit] brgemm_kernel_t" in text


def test_ops_without_recorded_calls_come_from_stacks() -> None:
    whole = training_run()
    tables = {n: whole.table(n) for n in ("samples", "stacks", "frames", "threads")}
    found, text = view("ops", Recording(Meta(), tables))
    assert found["source"] == "samples"
    assert found["rows"][0]["calls"] is None
    assert found["rows"][0]["samples"] > 0
    assert "From sampled stacks" in text
    with pytest.raises(UsageError, match="--by shape"):
        view("ops", Recording(Meta(), tables), by="shape")


def test_ops_from_stacks_set_start_and_shutdown_apart_as_all_views_of_samples() -> None:
    whole = training_run()
    tables = {n: whole.table(n) for n in ("samples", "stacks", "frames", "threads", "marks")}
    marks = tables["marks"]
    late = marks.array("start_ns") >= np.median(marks.array("start_ns"))
    recording = Recording(
        Meta(source="run"), {**tables, "marks": marks.take(late)}
    )  # what is before is start
    found, _ = view("ops", recording)
    everything, _ = view("ops", recording, whole=True)
    apart = found["apart"]["start_ms"] + found["apart"]["shutdown_ms"]
    stacks, _ = view("stacks", recording)
    assert found["apart"] == stacks["apart"]
    assert everything["apart"] == {"start_ms": 0.0, "shutdown_ms": 0.0}
    assert 0 < everything["self_ms"] - found["self_ms"] <= apart


def test_primitives_that_were_asked_for_and_did_not_come_are_not_advised_again() -> None:
    _, text = view("primitives", Recording(Meta(options={"primitives": True}), {}))
    assert "though --primitives was given" in text
    _, text = view("primitives", Recording(Meta(), {}))
    assert "Record them with: sonde run --primitives script.py" in text


def test_steps_keep_warmup_apart() -> None:
    ms = [50, 30, *[10] * 18]
    ends = [sum(ms[: i + 1]) * 1_000_000 for i in range(20)]
    marks = build.table(
        "marks", mark=range(20), process=[0] * 20, kind=["step"] * 20, name=["train"] * 20, number=range(20),
        start_ns=[0, *ends[:-1]], end_ns=ends,
    )  # fmt: skip
    found, text = view("steps", Recording(Meta(), {"marks": marks}))
    assert (found["count"], found["warmup"], found["median_ms"]) == (20, 2, 10.0)
    assert "2 of them warm-up" in text
    assert "60.0 ms above 2 steady steps" in text


def test_chain_tells_the_call_and_the_levels() -> None:
    found, text = view("chain", training_run(), op="aten::addmm")
    assert found["calls"]["count"] == 102
    assert [s["name"] for s in found["calls"]["call"]["steps"][:2]] == ["aten::addmm", "aten::_addmm_impl"]
    assert sum(level["samples"] for level in found["levels"]) == found["samples"]
    assert "dead window before the first dispatch" in text
    with pytest.raises(UsageError, match=r"aten::no_such"):
        view("chain", training_run(), op="aten::no_such")


def test_chain_of_two_recordings_side_by_side() -> None:
    found, text = view("chain", training_run(), op="aten::gelu", against=training_run(slow=3.0))
    left, right = found["sides"]["recordings"]
    assert found["sides"]["line"].startswith("forward (gpt.py:")
    assert right["on_cpu_ms"] > left["on_cpu_ms"]
    assert "A  " in text
