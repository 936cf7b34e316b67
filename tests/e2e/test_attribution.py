"""Module path of samples in the model, and forward line and module of backward time, on real models.

In the model means: while a call of the outermost module was under way on that thread, by its own marks, or with
`Module.__call__` on the stack. Backward time is that of the autograd nodes inside windows. What the
loss outside of the model costs has a line but no module, rightly; it is part of the whole.
"""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.base.grouping import parent_rows, rows_of
from sonde.columns import Array
from sonde.link.forward import NODE
from sonde.native import agent_path
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from tests.environments import python_of

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
]
BERT = """
import torch
from transformers import BertConfig, BertForSequenceClassification
torch.manual_seed(0)
config = BertConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
                    intermediate_size=512, num_labels=2)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(10):
    ids, labels = torch.randint(0, 1000, (8, 64)), torch.randint(0, 2, (8,))
    optimizer.zero_grad()
    model(input_ids=ids, labels=labels).loss.backward()
    optimizer.step()
"""


def record(folder: Path, *command: str) -> Recording:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    run = [
        sys.executable,
        "-m",
        "sonde",
        "run",
        "--quiet",
        "--rate",
        "1000",
        "--window",
        "all",
        "-o",
        "o.sonde",
    ]
    done = subprocess.run(
        [*run, "--", *command], env=environment, cwd=folder, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return open_recording(folder / "o.sonde")


def on_stack(recording: Recording, layer: str, name: str | None = None) -> Array:
    """For each sample: is there a frame of this layer (and name) on its stack?"""
    stacks, frames, samples = (recording.table(n) for n in ("stacks", "frames", "samples"))
    wanted = frames.text("layer").equals(layer)
    if name is not None:
        wanted &= frames.text("name").equals(name)
    found = wanted[rows_of(frames.array("frame"), stacks.array("frame"))]
    parent = rows_of(stacks.array("stack"), stacks.array("parent"))
    for row in np.argsort(stacks.array("depth"), kind="stable").tolist():
        if parent[row] >= 0:
            found[row] |= found[parent[row]]
    at = rows_of(stacks.array("stack"), samples.array("stack"))
    result: Array = found[at] & (at >= 0)
    return result


def in_forward(recording: Recording) -> Array:
    """For each sample: was a call of an outermost module under way on its thread (or its owner's)?"""
    samples, marks = recording.table("samples"), recording.table("marks")
    owner, time_ns = samples.array("owner"), samples.array("time_ns")
    thread = np.where(owner >= 0, owner, samples.array("thread"))
    calls = marks.take(marks.text("kind").equals("phase") & marks.text("name").equals("forward"))
    inside = np.zeros(len(samples), np.bool_)
    columns = [calls.array(name).tolist() for name in ("start_ns", "end_ns", "thread")]
    for start, end, number in zip(*columns, strict=True):
        inside |= (time_ns >= start) & (time_ns < end) & (thread == number)
    return inside


def check(recording: Recording) -> None:
    running = recording.table("samples").text("state").equals("running")
    module = on_stack(recording, "module")
    for chosen in (in_forward(recording), on_stack(recording, "python", "Module._call_impl")):
        samples = int((running & chosen).sum())
        assert samples > 60  # a fast machine has few
        share = float(module[running & chosen].mean())
        assert share >= 0.99 - 3 * math.sqrt(0.99 * 0.01 / samples), f"{share:.4f} of {samples} samples"
    ops = recording.table("ops")
    names = ops.text("name")
    is_node = np.array([value.startswith(NODE) for value in names.values])[names.codes]
    nodes = ops.take(is_node & (parent_rows(ops) < 0))
    time_ns = nodes.array("end_ns") - nodes.array("start_ns")
    assert len(nodes) > 100
    for known in (nodes.array("line") > 0, nodes.array("forward_op") >= 0):
        assert time_ns[known].sum() >= 0.99 * time_ns.sum()
    # The loss is a function in no module, and its node is the first that autograd runs.
    assert time_ns[nodes.text("module").codes >= 0].sum() >= 0.97 * time_ns.sum()


@pytest.mark.parametrize(
    ("example", "options"),
    [
        ("gpt", ["--steps", "8", "--tokens", "4"]),
        ("convnet", ["--steps", "4", "--batch", "16"]),
    ],
)
def test_modules_and_forward_lines_of_the_examples(example: str, options: list[str], tmp_path: Path) -> None:
    check(record(tmp_path, sys.executable, str(ROOT / "examples" / f"{example}.py"), *options))


def test_modules_and_forward_lines_of_a_bert(tmp_path: Path) -> None:
    python = python_of("trainers", "transformers")
    (tmp_path / "bert.py").write_text(BERT)
    check(record(tmp_path, python, "bert.py"))
