"""`sonde.profile()`, `sonde.step()` and `sonde.region()` in real programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sonde
from sonde.store.reader import open_recording
from tests.lifecycle.observed import needs_torch, run

pytestmark = pytest.mark.serial

ROOT = str(Path(sonde.__file__).parent.parent)


def _plain(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run without `sonde run` around."""
    environment = {k: v for k, v in os.environ.items() if k != "SONDE_OBSERVE"}
    environment |= {"PYTHONPATH": ROOT, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=240,
        check=False,
    )


def test_outside_of_a_recording_they_do_nothing(tmp_path: Path) -> None:
    done = _plain(
        tmp_path,
        "import sonde, sys\n"
        "sonde.step()\n"
        "with sonde.region('x'): pass\n"
        "assert 'numpy' not in sys.modules and 'duckdb' not in sys.modules\n"
        "try:\n"
        "    sonde.profile().__enter__()\n"
        "except sonde.errors.EnvironmentLacks as error: print(error.hint)\n",
    )
    assert done.returncode == 0, done.stderr
    assert "sonde run" in done.stdout
    assert list(tmp_path.iterdir()) == []


@needs_torch
def test_profile_without_a_launcher_makes_a_recording_that_says_what_is_missing(tmp_path: Path) -> None:
    done = _plain(
        tmp_path,
        "import torch, sonde\n"
        "model = torch.nn.Linear(3, 3)\n"
        "@sonde.profile('one.sonde')\n"
        "def work():\n"
        "    with sonde.region('inner'):\n"
        "        for _ in range(4):\n"
        "            model(torch.ones(2, 3))\n"
        "work()\n"
        "with sonde.profile('two.sonde'):\n"
        "    torch.ones(2).exp()\n",
    )
    assert (done.returncode, done.stderr) == (0, "")
    one = open_recording(tmp_path / "one.sonde")
    assert one.table("ops").text("name").tolist().count("aten::addmm") == 4
    kinds = one.table("marks").text("kind")
    assert int(kinds.equals("step").sum()) == 4
    assert "no_agent" in one.table("losses").text("cause").tolist()
    two = open_recording(tmp_path / "two.sonde")
    names = two.table("ops").text("name").tolist()
    assert "aten::exp" in names
    assert "aten::addmm" not in names


def test_regions_without_torch_under_a_launcher(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import sonde, sys
        for _ in range(3):
            with sonde.region("tokenise"):
                pass
        assert "torch" not in sys.modules
        """,
        environment={"PYTHONPATH": ROOT},
    )
    assert (done.code, done.stderr) == (0, "")
    assert done.marks("region", "tokenise") == 3


@needs_torch
def test_the_programs_own_steps_win_over_found_ones(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch, sonde
        model = torch.nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for number in range(12):
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            if number % 3 == 2:
                sonde.step()
        """,
        environment={"PYTHONPATH": ROOT},
    )
    assert (done.code, done.stderr) == (0, "")
    assert done.marks("step") == done.marks("step", "user") == 4


@needs_torch
def test_memory_of_a_training_window_by_category(tmp_path: Path) -> None:
    from sonde.analyze.memory.timeline import peaks

    done = run(
        tmp_path,
        """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
        optimizer = torch.optim.Adam(model.parameters())
        x = torch.randn(64, 256)
        for _ in range(8):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
        """,
        window="steps=4:7",
    )
    assert (done.code, done.stderr) == (0, "")
    tables = done.framework().tables
    (peak,) = peaks(tables["memory"], tables["marks"])
    weights = 2 * (256 * 256 + 256) * 4
    assert peak.by_category["parameter"] == weights
    assert peak.by_category["optimizer_state"] >= 2 * weights  # two moments, and the counts of steps
    assert peak.by_category["optimizer_state"] < 2 * weights + 4096
    assert peak.by_category["gradient"] == weights
    # The peak is in Adam's step, where the activations are gone and one more copy of the weights is made.
    assert abs(peak.by_category["temporary"] - weights) < 4096
    assert "activation" not in peak.by_category


@needs_torch
def test_a_profiled_block_under_a_launcher_is_recorded_whole(tmp_path: Path) -> None:
    """By itself a window ends after a few steps; one that the program opened ends where the program says."""
    done = run(
        tmp_path,
        """
        import sonde, torch
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        def steps(count):
            for _ in range(count):
                optimizer.zero_grad(); model(torch.ones(1, 4)).sum().backward(); optimizer.step()
        steps(20)
        with sonde.profile():
            steps(15)
        steps(20)
        """,
        window="auto",
        environment={"PYTHONPATH": ROOT},
    )
    assert (done.code, done.stderr) == (0, "")
    found = done.framework().tables
    ops, marks = found["ops"], found["marks"]
    at = int(marks.text("kind").equals("region").argmax())
    start, end = int(marks.array("start_ns")[at]), int(marks.array("end_ns")[at])
    inside = (ops.array("start_ns") >= start) & (ops.array("end_ns") <= end)
    assert int((ops.text("name").equals("aten::linear") & inside).sum()) == 15
    assert marks.text("kind").equals("step").sum() == 55
