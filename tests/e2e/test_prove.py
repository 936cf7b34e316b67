"""`sonde prove`: an insight's experiment on a real program, the user's own change, and the ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.experiment.design.arm import Arm, Patch
from sonde.experiment.measure.flips import FlipMeasure
from sonde.experiment.measure.launches import LaunchMeasure

pytestmark = pytest.mark.serial

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SLOW = """
import sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end: pass
print("loss", sys.argv[2] if len(sys.argv) > 2 else 1.0)
"""
TRAINING = """
import sys, time, torch
from torch.utils.data import DataLoader
loader = DataLoader(torch.ones(64, 8), 2, num_workers=0)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    for batch in loader:
        time.sleep(getattr(torch, "pause", 0.0))
        loss = model(batch).sum()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
print("workers", loader.num_workers, "flag", getattr(torch, "planted", None), file=sys.stderr)
"""


def sonde(*words: str | Path, state: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_STATE_HOME": str(state), "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(
        [sys.executable, "-m", "sonde", *map(str, words)],
        text=True,
        capture_output=True,
        timeout=300,
        env=env,
    )


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.py"
    path.write_text(SLOW)
    return path


def test_the_users_own_change_and_the_ledger(slow: Path, tmp_path: Path) -> None:
    words = [f"{sys.executable} {slow} {seconds}" for seconds in (0.3, 0.1)]
    done = sonde("prove", "--before", words[0], "--after", words[1], "--json", state=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["outcome"], found["predicted"], found["how"]) == ("proved", None, "launches")
    assert 0 < found["low"] <= found["measured"] <= found["high"] < 0.75
    shown = sonde("prove", "--ledger", "--json", state=tmp_path)
    ledger = json.loads(shown.stdout)
    assert [(o["rule"], o["judged"]) for o in ledger["outcomes"]] == [("own change", "no_figure")]
    assert ledger["calibration"][-1]["proofs"] == 1
    assert "own change" in sonde("prove", "--ledger", state=tmp_path).stdout


def test_other_results_are_no_proof(slow: Path, tmp_path: Path) -> None:
    words = [f"{sys.executable} {slow} 0.2 1.0", f"{sys.executable} {slow} 0.05 3.0"]
    done = sonde("prove", "--before", words[0], "--after", words[1], state=tmp_path)
    assert "results differ" in done.stdout
    assert "loss=1.0 / loss=3.0" in done.stdout


def test_a_budget_too_small_says_what_is_missing(slow: Path, tmp_path: Path) -> None:
    word = f"{sys.executable} {slow} 0.1"
    done = sonde("prove", "--before", word, "--after", word, "--budget", "0.01", state=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "open" in done.stdout
    assert "more pairs would settle it" in done.stdout


def test_a_rule_that_found_nothing_is_named(tmp_path: Path, slow: Path) -> None:
    folder = tmp_path / "r.sonde"
    assert sonde("run", "--quiet", "-o", folder, slow, "0.2", state=tmp_path).returncode == 0
    done = sonde("prove", folder, "no_such_rule", state=tmp_path)
    assert done.returncode == 2
    assert "no insight 'no_such_rule'" in done.stderr


def test_an_insight_is_tried_by_its_own_experiment(tmp_path: Path) -> None:
    """A cap on the instruction set, left in the shell: found, taken away in one arm, and the step is shorter."""
    pytest.importorskip("torch", reason="the program needs torch")
    folder, program = tmp_path / "r.sonde", EXAMPLES / "pitfalls" / "isa_cap.py"
    capped = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
    ran = sonde(
        "run", "--quiet", "-o", folder, program, "--fixed", "--seconds", "2", state=tmp_path, **capped
    )
    assert ran.returncode == 0, ran.stderr
    command = ("--", sys.executable, program, "--fixed", "--steps", "24")
    done = sonde("prove", folder, "isa_capped", "--json", "--budget", "0.2", *command, state=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["outcome"] in ("proved", "open"), "a full proof takes minutes; the sign shows at once"
    assert found["predicted"]["low"] > 0
    assert found["measured"] > 0.1, "of the step, by pairs of launches"
    outcome = json.loads(sonde("prove", "--ledger", "--json", state=tmp_path).stdout)["outcomes"][0]
    assert outcome["rule"] == "isa_capped"


@pytest.fixture
def training(tmp_path: Path) -> tuple[str, ...]:
    pytest.importorskip("torch", reason="changes from inside need torch")
    path = tmp_path / "training.py"
    path.write_text(TRAINING)
    return (sys.executable, str(path))


def test_changes_reach_the_inside_and_no_file_is_touched(training: tuple[str, ...], tmp_path: Path) -> None:
    before = Path(training[1]).read_bytes()
    patch = Patch("torch.utils.data.DataLoader", {"num_workers": 1})
    arm = Arm("changed", training, {"OMP_NUM_THREADS": "1"}, code="torch.planted = 7", patches=(patch,))
    check = "cat $(dirname $SONDE_OUTPUT)/stderr"
    found = LaunchMeasure(check=check)(arm, 0)
    assert found.exit_code == 0, found.result
    assert found.result == "workers 1 flag 7"
    assert found.applied == 2
    assert found.loads
    assert found.steps > 50
    assert Path(training[1]).read_bytes() == before


def test_a_switch_flips_inside_one_process(training: tuple[str, ...]) -> None:
    a, b = (
        Arm(name, training, {"OMP_NUM_THREADS": "1"}, code=f"torch.pause = {ms} / 1000")
        for name, ms in (("a", 2), ("b", 6))
    )
    measure = FlipMeasure(a, b, block=5)
    pairs = [(measure(a, 0), measure(b, 0)) for _ in range(6)]
    assert all(m.exit_code == 0 for pair in pairs for m in pair), pairs
    assert measure.launches == 1, "one process gave all pairs"
    # A sleep is never shorter than asked for, however busy the machine is; it may be longer.
    assert all(y.value_ms >= 6 for _, y in pairs)
    assert min(x.value_ms for x, _ in pairs) < 6
    assert all(x.steps >= 3 for x, _ in pairs)
