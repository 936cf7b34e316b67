"""Two real programs that take turns: what is measured, and that nobody is left standing."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sonde
from sonde.experiment.design.arm import Arm
from sonde.experiment.measure.launches import LaunchMeasure

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]

TRAIN = """
import os, time, torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.DataLoader(torch.ones({steps}, 8), batch_size=1, num_workers={workers})
for x in data:
    end = time.perf_counter() + {step_s}
    while time.perf_counter() < end:
        pass
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
print("loss", float(model.weight.sum() * 0))
"""


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(sonde.__file__).parent.parent))


def arm(folder: Path, name: str, text: str) -> Arm:
    script = folder / f"{name}.py"
    script.write_text(text)
    return Arm(name, (sys.executable, str(script)))


def training(folder: Path, name: str, step_s: float, steps: int = 80, workers: int = 0) -> Arm:
    return arm(folder, name, TRAIN.format(step_s=step_s, steps=steps, workers=workers))


def standing(folder: Path) -> set[int]:
    """Processes of programs in `folder` that stand still."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            stands = entry.name.isdigit() and ") T " in (entry / "stat").read_text()
            if stands and str(folder).encode() in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def test_a_step_twice_as_long_is_seen_in_one_pair(tmp_path: Path) -> None:
    measure = LaunchMeasure(timeout_s=60)
    pair = measure.together(training(tmp_path, "slow", 0.012), training(tmp_path, "quick", 0.006), (0, 64))
    assert pair is not None
    slow, quick = pair
    assert slow.in_turns
    assert quick.in_turns
    assert 1.25 < slow.value_ms / quick.value_ms < 2.5
    assert quick.value_ms > 6
    assert slow.result == quick.result == "loss=0.0"
    assert slow.steps > 40


def test_programs_with_workers_take_turns_and_leave_nobody_standing(tmp_path: Path) -> None:
    both = training(tmp_path, "loader", 0.004, workers=1)
    pair = LaunchMeasure(timeout_s=60).together(both, both, (0, 0))
    assert pair is not None
    assert pair[0].loads
    assert pair[0].exit_code == pair[1].exit_code == 0
    assert not standing(tmp_path)


def test_programs_that_cannot_take_turns_are_launched_one_by_one(tmp_path: Path) -> None:
    measure = LaunchMeasure(timeout_s=60)
    plain = arm(tmp_path, "plain", "print('loss 1.0')")
    assert measure.together(plain, plain, (0, 0)) is None
    assert not measure.turns
    assert measure(plain, 0).steps == 0
    few = LaunchMeasure(timeout_s=60)
    assert few.together(*(training(tmp_path, "few", 0.001, steps=6),) * 2, (0, 0)) is None


def test_an_arm_that_crashes_while_the_other_stands(tmp_path: Path) -> None:
    good = training(tmp_path, "good", 0.004)
    text = TRAIN.format(step_s=0.004, steps=80, workers=0)
    broken = "for i, x in enumerate(data):\n    if i == 30: raise ValueError('broken here')"
    bad = arm(tmp_path, "bad", text.replace("for x in data:", broken))
    measure = LaunchMeasure(timeout_s=60)
    assert measure.together(good, bad, (0, 0)) is None  # perhaps it cannot bear company: tried alone next
    alone = measure(bad, 0)
    assert (alone.exit_code, alone.result) == (1, "ValueError: broken here")
    assert measure.turns  # the arm was at fault, not the company
    assert not standing(tmp_path)


def test_a_program_that_cannot_bear_company_is_launched_one_by_one(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    text = TRAIN.format(step_s=0.004, steps=40, workers=0)
    jealous = f"import os\nos.close(os.open({str(lock)!r}, os.O_CREAT | os.O_EXCL))\n{text}\nos.unlink({str(lock)!r})"
    only = arm(tmp_path, "jealous", jealous)
    measure = LaunchMeasure(timeout_s=60)
    assert measure.together(only, only, (0, 0)) is None
    assert measure(only, 0).exit_code == 0
    assert not measure.turns


def test_a_launcher_that_is_killed_takes_both_with_it(tmp_path: Path) -> None:
    script = training(tmp_path, "long", 0.01, steps=2000).command[1]
    code = (
        "import sys\nfrom sonde.experiment.design.arm import Arm\n"
        "from sonde.experiment.measure.launches import LaunchMeasure\n"
        f"arm = Arm('long', (sys.executable, {script!r}))\n"
        "LaunchMeasure(timeout_s=60).together(arm, arm, (0, 0))\n"
    )
    launcher = subprocess.Popen([sys.executable, "-c", code])
    try:
        seen: set[int] = set()
        deadline = time.monotonic() + 60
        while len(seen) < 2 and time.monotonic() < deadline:
            seen |= standing(tmp_path)
            time.sleep(0.01)
        assert len(seen) == 2
    finally:
        launcher.send_signal(signal.SIGKILL)
        launcher.wait()
    deadline = time.monotonic() + 20
    while any(_lives(pid) for pid in seen) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_lives(pid) for pid in seen)


def _lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
