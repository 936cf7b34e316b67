"""Windows of torch's profiler in a program whose collectives end on gloo's threads, after the program was told."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.native import agent_path
from sonde.store.reader import open_recording
from tests.ranks.jobs import BEGIN, TRAIN, environment, torchrun

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
]
HERE = Path(__file__).parent

JOB = (
    BEGIN
    + TRAIN
    + """
dist.init_process_group("gloo")
train(dist.get_rank(), 40)
time.sleep(0.1)  # gloo's thread has ended the last one
done(dist.get_rank())
dist.destroy_process_group()
"""
)
OWN_PROFILER = (
    BEGIN
    + TRAIN
    + """
dist.init_process_group("gloo")
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    train(dist.get_rank(), 5)
    time.sleep(0.3)
names = sorted(e.key for e in profiler.key_averages() if e.key.startswith("gloo:"))
own["names"] = names
done(dist.get_rank())
dist.destroy_process_group()
"""
)


def record(folder: Path, program: str, **variables: str) -> Path:
    (folder / "train.py").write_text(program)
    target = folder / "job.sonde"
    command = [sys.executable, "-m", "sonde", "run", "--quiet", "-o", str(target)]
    command += torchrun(2, folder / "train.py", str(folder))
    done = subprocess.run(
        command,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=200,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return target


def test_a_window_may_close_before_gloo_has_ended_its_last_collective(tmp_path: Path) -> None:
    """torch wrote into the closed window's freed memory: most such jobs died of it."""
    library = tmp_path / "slow.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, HERE / "slow_finish.c", "-ldl"], check=True)
    # Freed memory is filled, so that a write into it, or a read from it, shows.
    target = record(tmp_path, JOB, LD_PRELOAD=str(library), MALLOC_PERTURB_="165")
    recording = open_recording(target)
    kinds = recording.table("marks").text("kind")
    assert kinds.equals("window").any()
    names = {str(name) for name in recording.table("ops").text("name").tolist()}
    assert "aten::addmm" in names or "aten::linear" in names
    assert not {name for name in names if name.startswith("gloo:")}
    assert len(recording.table("collectives")) >= 2 * 80


def test_the_programs_own_profiler_sees_them_as_ever(tmp_path: Path) -> None:
    record(tmp_path, OWN_PROFILER)
    for rank in (0, 1):
        assert "gloo:all_reduce" in json.loads((tmp_path / f"count-{rank}.json").read_text())["names"]
