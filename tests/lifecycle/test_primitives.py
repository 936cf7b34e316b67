"""Capturing oneDNN and MKL calls of real programs: complete, joined, and invisible to the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.primitives import table as analysis
from sonde.link import link_recording
from tests.lifecycle.observed import needs_torch, run

pytestmark = pytest.mark.serial

pytestmark = needs_torch

CONVNET = """
import os, sys, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x, y = torch.randn(8, 3, 32, 32), torch.arange(8)
for step in range(8):
    print("step", step, end=" ")
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    os.write(1, b"<raw>")
    print("end", step)
    {extra}
"""


def expected(steps: int) -> str:
    return "".join(f"step {i} <raw>end {i}\n" for i in range(steps))


def test_training_is_captured_joined_and_its_output_kept(tmp_path: Path) -> None:
    # Unbuffered, so that os.write and print have one order to keep.
    done = run(tmp_path, CONVNET.replace("{extra}", ""), "steps=3:6", flags=("-u",), primitives=True)
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == expected(8)
    found = done.framework()
    linked = link_recording(found.tables)
    table, ops = linked["primitives"], linked["ops"]
    work = table.take(analysis.executed(table))
    kinds = work.text("kind").tolist()
    # Two convolutions forward, two gradients of weights, one of input; two linear layers of three each.
    assert kinds.count("convolution") == 3 * 5
    assert kinds.count("sgemm") == 3 * 6
    time_ms = work.array("time_ms")
    joined = work.array("op") >= 0
    assert time_ms[joined].sum() >= 0.99 * time_ms.sum()
    rows = rows_of(ops.array("op"), work.array("op"))
    names = ops.text("name").take(np.maximum(rows, 0)).tolist()
    by_kind = {(k, n) for k, n, j in zip(kinds, names, joined.tolist(), strict=True) if j}
    assert {n for k, n in by_kind if k == "sgemm"} == {"aten::mm", "aten::addmm"}
    assert {n for k, n in by_kind if k == "convolution"} == {
        "aten::mkldnn_convolution",
        "aten::convolution_backward",
    }
    # Each stamped call lies inside the operator it was given, but for the clocks' uncertainty.
    stamped = joined & (work.array("start_ns") >= 0)
    assert stamped.sum() == joined.sum()
    start = work.array("start_ns")[stamped]
    end = start + (time_ms[stamped] * 1e6).astype(np.int64)
    slack = 20_000
    assert (start >= ops.array("start_ns")[rows[stamped]] - slack).all()
    assert (end <= ops.array("end_ns")[rows[stamped]] + slack).all()
    assert found.versions["onednn"].startswith("3.")
    assert done.causes() == []


def test_nothing_is_created_anew_in_steady_state(tmp_path: Path) -> None:
    done = run(tmp_path, CONVNET.replace("{extra}", ""), "steps=5:8", flags=("-u",), primitives=True)
    assert len(analysis.creations(done.framework().tables["primitives"])) == 0


def test_a_program_that_dies_inside_the_window_keeps_its_words(tmp_path: Path) -> None:
    program = CONVNET.replace("{extra}", "if step == 4: os._exit(7)")
    done = run(tmp_path, program, "steps=3:6", flags=("-u",), primitives=True)
    assert done.code == 7
    assert done.stdout == expected(5)
    kinds = done.framework().tables["primitives"].text("kind").tolist()
    assert kinds.count("convolution") >= 5  # of the first step of the window


def test_a_program_that_prints_them_itself_is_left_alone(tmp_path: Path) -> None:
    environment = {"ONEDNN_VERBOSE": "1"}
    program = CONVNET.replace("{extra}", "")
    done = run(tmp_path, program, "steps=3:6", flags=("-u",), environment=environment, primitives=True)
    assert done.stdout.count("onednn_verbose,v1,primitive,exec,cpu,convolution") == 8 * 5
    assert done.causes() == ["primitives_printed"]
    assert len(done.framework().tables["primitives"]) == 0


def test_without_the_option_nothing_is_captured(tmp_path: Path) -> None:
    done = run(tmp_path, CONVNET.replace("{extra}", ""), "steps=3:6", flags=("-u",))
    assert done.stdout == expected(8)
    assert not list(done.raw.glob("*.primitives*"))
