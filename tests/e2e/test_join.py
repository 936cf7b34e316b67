"""One clock: the operator call found for a sample is the one whose frame is on its stack."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sonde
from sonde.analyze.base.grouping import rows_of
from sonde.analyze.samples.operators_on_stack import entered_operators, stack_operators
from sonde.link.samples import sample_ops
from sonde.native import agent_path
from sonde.store.reader import open_recording

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
]

PROGRAM = """
import time, torch
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3),
    torch.nn.Flatten(), torch.nn.Linear(16 * 28 * 28, 10),
)
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
begin = time.process_time()
while time.process_time() - begin < 4:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def test_the_op_by_time_is_the_op_on_the_stack(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    target = tmp_path / "out.sonde"
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(sonde.__file__).parent.parent),
    }
    command = [sys.executable, "-m", "sonde", "run", "-o", str(target), "--rate", "1000", "--window", "all"]
    done = subprocess.run(
        [*command, str(script)], env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    recording = open_recording(target)
    samples, ops = recording.table("samples"), recording.table("ops")
    on_stack = stack_operators(samples, recording.table("stacks"), recording.table("frames")).tolist()
    row = rows_of(ops.array("op"), samples.array("op"))
    names = ops.text("name").tolist()
    joined = [names[r] if r >= 0 else None for r in row.tolist()]
    by_time = rows_of(ops.array("op"), sample_ops(samples, ops)).tolist()
    entered = entered_operators(samples, recording.table("stacks"), recording.table("frames")).tolist()
    marks = recording.table("marks")
    windows = marks.take(marks.text("kind").equals("window"))
    time_ns = samples.array("time_ns")
    inside = np.zeros(len(samples), np.bool_)
    for start, end in zip(windows.array("start_ns"), windows.array("end_ns"), strict=True):
        inside |= (time_ns >= start) & (time_ns < end)
    running = inside & samples.text("state").equals("running")
    # Getters such as aten::size have a frame but no record; they are no calls to find.
    recorded = set(names)
    pairs = [(on_stack[i], joined[i]) for i in np.flatnonzero(running).tolist() if on_stack[i] in recorded]
    at_least(0.995, pairs)
    # The clock alone, against the stack alone: calls that the profiler has stamped, by the kernel on the stack.
    apart = [
        (short(entered[i]), short(names[by_time[i]] if by_time[i] >= 0 else None))
        for i in np.flatnonzero(running).tolist()
        if entered[i] in recorded and entered[i] == on_stack[i]
    ]
    at_least(0.995, apart)


def short(name: str | None) -> str | None:
    """Autograd's kernel of aten::detach makes a second record of the same call, named detach."""
    return name.removeprefix("aten::") if name else None


def at_least(wanted: float, pairs: list[tuple[str | None, str | None]]) -> None:
    assert len(pairs) > 500
    share, error = sum(a == b for a, b in pairs) / len(pairs), math.sqrt(wanted * (1 - wanted) / len(pairs))
    print(f"{share:.4f} of {len(pairs)}")
    assert share >= wanted - 3 * error, [p for p in pairs if p[0] != p[1]][:20]
