"""Programs that are started by something else: torchrun with ranks, notebooks and their kernels.

Each runs under `sonde run` as its user would start it; counts of steps are those that the program makes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sonde.native import agent_path
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from tests.environments import python_of

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
]
RANK = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 64), torch.randint(0, 4, (32,))
for _ in range(9):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
print(f"rank {dist.get_rank()} done\\n", end="", flush=True)  # in one write: both ranks share the pipe
dist.destroy_process_group()
"""
TRAIN = """
import torch
model = torch.nn.Linear(32, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        model(torch.randn(8, 32)).sum().backward()
        optimizer.step()
"""


def sonde_run(folder: Path, *words: str, python: str = sys.executable) -> Recording:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    command = [python, "-m", "sonde", "run", "--quiet", "-o", "out.sonde", *words]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "stdout.txt").write_text(done.stdout)
    return open_recording(folder / "out.sonde")


def steps_of(recording: Recording) -> dict[int, int]:
    """Steps of each process that made some."""
    marks = recording.table("marks")
    owner = marks.array("process")[marks.text("kind").equals("step")].tolist()
    return {process: owner.count(process) for process in set(owner)}


@pytest.mark.parametrize("how", ["module", "command"])
def test_torchrun_with_two_ranks(how: str, tmp_path: Path) -> None:
    if how == "command" and not (Path(sys.executable).parent / "torchrun").exists():
        pytest.skip("torchrun is not beside this Python")
    (tmp_path / "rank.py").write_text(RANK)
    start = ["-m", "torch.distributed.run"] if how == "module" else ["torchrun"]
    recording = sonde_run(tmp_path, *start, "--standalone", "--nproc-per-node", "2", "rank.py")
    assert sorted((tmp_path / "stdout.txt").read_text().split("\n"))[-2:] == ["rank 0 done", "rank 1 done"]
    processes = recording.table("processes")
    rank = dict(zip(processes.array("process").tolist(), processes.array("rank").tolist(), strict=True))
    assert sorted((rank[p], n) for p, n in steps_of(recording).items()) == [(0, 9), (1, 9)]
    ranked = processes.take(processes.array("rank") >= 0)
    assert set(ranked.array("world_size").tolist()) == {2}
    assert set(ranked.text("role").tolist()) == {"rank"}
    samples, threads = recording.table("samples"), recording.table("threads")
    owner = dict(zip(threads.array("thread").tolist(), threads.array("process").tolist(), strict=True))
    sampled = {owner[thread] for thread in set(samples.array("thread").tolist())}
    assert set(steps_of(recording)) <= sampled


def notebook(path: Path, *cells: str) -> None:
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"c{i}", "execution_count": None, "metadata": {}, "outputs": [],
         "source": source}
        for i, source in enumerate(cells)
    ]  # fmt: skip
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": made, "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))


def execute(*command: str) -> tuple[str, ...]:
    return ("-m", "nbconvert", "--to", "notebook", "--execute", *command)


def texts(path: Path) -> str:
    """What the cells printed."""
    found = json.loads(path.read_text())
    return "".join("".join(o.get("text", "")) for cell in found["cells"] for o in cell["outputs"])


def test_a_notebook_executed_under_sonde(tmp_path: Path) -> None:
    python = python_of("jupyter", "ipykernel")
    (tmp_path / "script.py").write_text(TRAIN + "\nsteps(5)\nprint('script done')\n")
    notebook(
        tmp_path / "work.ipynb",
        TRAIN,
        "steps(7)",
        "import sonde\nwith sonde.profile():\n    steps(3)\nprint('cell done')",
        "%run script.py",
    )
    recording = sonde_run(tmp_path, "--", python, *execute("work.ipynb", "--output", "done.ipynb"))
    assert texts(tmp_path / "done.ipynb") == "cell done\nscript done\n"
    assert list(steps_of(recording).values()) == [7 + 3 + 5]
    marks, ops = recording.table("marks"), recording.table("ops")
    assert marks.text("kind").equals("region").sum() == 1
    # The profiled cell is a window of its own: three steps, each with its call of the linear layer.
    at = int(marks.text("kind").equals("region").argmax())
    start, end = int(marks.array("start_ns")[at]), int(marks.array("end_ns")[at])
    inside = (ops.array("start_ns") >= start) & (ops.array("end_ns") <= end)
    assert int((ops.text("name").equals("aten::linear") & inside).sum()) == 3
    # Lines of cells and of the script are the program's own lines.
    frames = recording.table("frames")
    files = {f for f in frames.text("file").tolist() if f}
    assert any("ipykernel" in f or f.startswith("<ipython-input") for f in files)


def test_profile_in_a_cell_of_a_kernel_that_nobody_watches(tmp_path: Path) -> None:
    python = python_of("jupyter", "ipykernel")
    notebook(
        tmp_path / "alone.ipynb",
        TRAIN,
        "import sonde\nwith sonde.profile('cell.sonde'):\n    steps(4)\nprint('done')",
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, *execute("alone.ipynb", "--output", "done.ipynb")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert texts(tmp_path / "done.ipynb") == "done\n"
    recording = open_recording(tmp_path / "cell.sonde")
    assert recording.table("ops").text("name").equals("aten::linear").sum() == 4
    assert "no_agent" in recording.table("losses").text("cause").tolist()
