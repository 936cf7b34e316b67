"""A window of `sonde run` and the same trace file imported by hand give the same calls, links and figures.

What differs by nature is left out: the clock (a window's is moved to CLOCK_MONOTONIC), numbers of calls and threads,
and what the line observer adds to a window (file, line, stack, module).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sonde
from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.columns import Table
from sonde.ingest.kineto import reader as kineto
from sonde.native import agent_path
from sonde.record.frameworks.torch.inside.kineto import CLOCK_NAME
from sonde.store.reader import open_recording

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
]

PROGRAM = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 32 * 32, 64),
)
attention = torch.nn.MultiheadAttention(64, 4, batch_first=True)
optimizer = torch.optim.AdamW([*model.parameters(), *attention.parameters()])
x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
for _ in range(4):
    optimizer.zero_grad()
    hidden = model(x)[None]
    torch.nn.functional.cross_entropy(attention(hidden, hidden, hidden)[0][0], y).backward()
    optimizer.step()
"""
TEXTS = ("name", "kind", "shapes", "dtypes", "strides", "inputs")
NUMBERS = ("sequence", "forward_thread", "is_async", "flops", "bytes", "cpu_mem_bytes", "device_mem_bytes")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors")
    (folder / "train.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "sonde",
        "run",
        "--window",
        "all",
        "--keep-raw",
        "-o",
        "out.sonde",
        "train.py",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(sonde.__file__).parent.parent)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "out.sonde"


def _calls(ops: Table) -> Table:
    ops = ops.take(~ops.text("name").equals(CLOCK_NAME))
    return ops.take(np.lexsort((-ops.array("end_ns"), ops.array("start_ns"), ops.array("thread"))))


def test_both_doors_give_the_same_calls_and_links(recorded: Path) -> None:
    (window,) = recorded.glob("raw/*.window-*[0-9].json")
    own = _calls(open_recording(recorded).table("ops"))
    imported = _calls(kineto.read(window).table("ops"))
    assert len(own) == len(imported) > 500
    for name in TEXTS:
        assert own.text(name).tolist() == imported.text(name).tolist(), name
    for name in NUMBERS:
        np.testing.assert_array_equal(own.array(name), imported.array(name), err_msg=name)
    np.testing.assert_array_equal(parent_rows(own), parent_rows(imported))
    forward = [rows_of(ops.array("op"), ops.array("forward_op")) for ops in (own, imported)]
    np.testing.assert_array_equal(*forward)
    assert (forward[0] >= 0).sum() > 100
    assert np.isfinite(own.array("flops")).any()
    assert own.array("cpu_mem_bytes").any()


def test_both_doors_give_the_same_memory(recorded: Path) -> None:
    (window,) = recorded.glob("raw/*.window-*[0-9].json")
    doors = [open_recording(recorded), kineto.read(window)]
    named = []
    for door in doors:
        memory, ops = door.table("memory"), door.table("ops")
        at = rows_of(ops.array("op"), memory.array("op"))
        names = ops.text("name")
        order = np.argsort(memory.array("time_ns"), kind="stable")
        named.append(
            [(int(memory.array("bytes")[i]), names[int(at[i])] if at[i] >= 0 else None) for i in order]
        )
    assert len(named[0]) > 100
    assert named[0] == named[1]
