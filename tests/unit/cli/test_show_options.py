"""`sonde show` takes what a view can honour, and honours what it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sonde.cli.main import main
from sonde.cli.show import OPTIONS
from sonde.views import VIEWS

KERNELS = 40


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace with many kernels; the first two were in the queue when it began."""
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "dur": 1}
    kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "dur": 4}
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 1000}
    events = [op]
    for i in range(KERNELS):
        if i >= 2:
            events.append({**call, "ts": 1 + 5 * i, "args": {"correlation": 100 + i}})
        where = {"correlation": 100 + i, "device": 0, "stream": 7}
        events.append({**kernel, "name": f"kernel_{i}", "ts": 2 + 5 * i, "args": where})
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["show", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_the_kernel_list_is_as_long_as_was_asked(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, shown in (((), 12), (("--limit", 3), 3), (("--limit", 30), 30), (("--limit", 100), KERNELS)):
        text = printed(capsys, trace, "gpu", *words)
        listed = text[text.index("Kernels, copies") : text.index("The critical path")]
        assert listed.count("kernel_") == shown
        assert (f"{KERNELS - shown} more rows (use --limit)" in listed) == (shown < KERNELS)


def test_an_option_that_a_view_does_not_take_is_refused_by_name(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"limit": "3", "thread": "1", "native": None, "whole": None, "against": str(trace)}
    for view, known in VIEWS.items():
        for option in OPTIONS:
            if option in known.takes:
                continue
            value = values.get(option, "x")
            words = ["show", str(trace), view, f"--{option}", *([value] if value else [])]
            assert main(words) == 2
            said = capsys.readouterr()
            assert not said.out
            assert f"the view {view} does not take --{option}" in said.err
            assert all(f"--{t}" in said.err for t in known.takes)


def test_work_launched_before_the_trace_is_called_so_and_is_no_operators(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (device,) = json.loads(printed(capsys, trace, "gpu", "--json"))["devices"]
    assert (device["kernels_without_launch"], device["kernels_launched_before_trace"]) == (2, 2)
    assert device["launched_before_trace_ms"] == pytest.approx(0.008)
    assert (
        "2 of the events with no launch (8.00 µs on the device) were launched before the trace began."
        in printed(capsys, trace, "gpu")
    )
    told = json.loads(printed(capsys, trace, "ops", "--json"))
    assert [r["name"] for r in told["rows"]] == ["aten::mm"]
    assert (
        told["launched_before_trace_ms"] == pytest.approx(told["device_elsewhere_ms"]) == pytest.approx(0.008)
    )
    assert "(launched before the trace began: 8.00 µs)" in printed(capsys, trace, "ops")


def test_work_whose_call_was_dropped_later_is_not_called_so(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.loads(trace.read_text())
    whole["traceEvents"] = [e for e in whole["traceEvents"] if e.get("ts") != 1 + 5 * 20]
    trace.write_text(json.dumps(whole))
    (device,) = json.loads(printed(capsys, trace, "gpu", "--json"))["devices"]
    assert (device["kernels_without_launch"], device["kernels_launched_before_trace"]) == (3, 2)


def test_a_cut_trace_says_so_before_every_view(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace.write_text(trace.read_text()[:-2])
    said = "the trace is incomplete: the file ends before the trace is closed: its writer was stopped"
    for view in ("ops", "gpu", "steps", "losses"):
        assert printed(capsys, trace, view).startswith(f"Note: {said}")
        assert json.loads(printed(capsys, trace, view, "--json"))["notes"] == [said]
