"""`sonde tune` as a user types it: the right winner, and clear words when anything goes wrong.

The programs here need no torch, so a launch takes a tenth of a second and has no steps: whole launches are timed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.serial

# Slow unless waiting is passive; what it prints and how it ends can be steered, and then its speed is no matter.
PROGRAM = """
import os, sys, time
passive = os.environ.get("OMP_WAIT_POLICY") == "PASSIVE"
end = time.process_time() + (0.0 if len(sys.argv) > 1 else 0.03 if passive else 0.2)
while time.process_time() < end: pass
if "crash" in sys.argv and passive: sys.exit("cannot wait like that")
print("loss", 2.0 if "differ" in sys.argv and passive else 1.0)
"""


def sonde(*words: str | Path, state: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_STATE_HOME": str(state), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "sonde", *map(str, words)],
        text=True, capture_output=True, timeout=300, env=env, **options,
    )  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "prog.py"
    path.write_text(PROGRAM)
    return path


def command(program: Path, *words: str) -> tuple[str | Path, ...]:
    return ("--only", "waiting", "--budget", "3", "--", sys.executable, program, *words)


def test_finds_and_proves_the_better_setting(program: Path, tmp_path: Path) -> None:
    env_file = tmp_path / "best.env"
    done = sonde("tune", "--json", "--env-file", env_file, *command(program), state=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["best"]["environment"]["OMP_WAIT_POLICY"] == "PASSIVE"
    gain = found["gain"]
    assert (gain["verdict"], gain["unit"], gain["same_result"]) == ("faster", "launch", True)
    assert gain["low"] <= gain["ratio"] <= gain["high"] < 1
    assert "OMP_WAIT_POLICY=PASSIVE\n" in env_file.read_text()
    ran = sonde(
        "run", "--quiet", "--env-file", env_file, "-o", tmp_path / "r.sonde", "--", sys.executable, program,
        state=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0
    meta = json.loads((tmp_path / "r.sonde" / "meta.json").read_text())
    assert meta["environment"]["OMP_WAIT_POLICY"] == "PASSIVE"


def test_other_results_are_refused_however_fast(program: Path, tmp_path: Path) -> None:
    done = sonde("tune", "--json", *command(program, "differ"), state=tmp_path)
    found = json.loads(done.stdout)
    assert "passive" not in found["best"]["name"]
    notes = {t["setting"]: t["note"] for t in found["trials"]}
    assert notes["passive waiting"] == "the program's results change"


def test_the_users_own_check_decides(program: Path, tmp_path: Path) -> None:
    check = "grep -o 'loss 1' $SONDE_OUTPUT"
    found = json.loads(
        sonde("tune", "--json", "--check", check, *command(program, "differ"), state=tmp_path).stdout
    )
    assert {t["setting"]: t["note"] for t in found["trials"]}[
        "passive waiting"
    ] == "the program's results change"


def test_a_crashing_setting_is_told_and_the_rest_goes_on(program: Path, tmp_path: Path) -> None:
    done = sonde("tune", "--json", *command(program, "crash"), state=tmp_path)
    assert done.returncode == 0, done.stderr
    notes = {t["setting"]: t["note"] for t in json.loads(done.stdout)["trials"]}
    assert "ended with exit code 1: cannot wait like that" in notes["passive waiting"]
    assert "short spinning" in notes


def test_a_program_that_always_crashes_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("raise ValueError('no data')\n")
    done = sonde("tune", *command(path), state=tmp_path)
    assert done.returncode == 3
    assert "as is: the program ended with exit code 1: ValueError: no data" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_from_outside_keeps_what_was_measured(
    program: Path, tmp_path: Path, number: signal.Signals
) -> None:
    journal = tmp_path / "j.jsonl"
    # A shell makes what it starts in the background ignore Ctrl-C, and the tests may run so.
    default = ("env", f"--default-signal={number.name.removeprefix('SIG')}")
    process = subprocess.Popen(
        [*default, sys.executable, "-m", "sonde", "tune", "--journal", journal, *map(str, command(program))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_text().count("\n") < 5:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"launches are kept → go on with --journal {journal}" in err
    kept = journal.read_text().splitlines()
    if number == signal.SIGTERM:
        return  # what follows does not depend on how it ended
    done = sonde("tune", "--json", "--journal", journal, *command(program), state=tmp_path)
    assert done.returncode == 0, done.stderr
    assert journal.read_text().splitlines()[: len(kept)] == kept, "nothing was measured again"
    other = sonde("tune", "--journal", journal, *command(program, "differ"), state=tmp_path)
    assert other.returncode == 3
    assert "another command" in other.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tune"], "no command given"),
        (["tune", "--", "no-such-command"], "'no-such-command' was not found"),
        (["tune", "--only", "colour", "--", "true"], "no knob"),
        (["tune", "--budget", "0", "--", "true"], "leaves no time"),
        (["prove"], "nothing to prove"),
        (["prove", "--before", "true"], "--before and --after go together"),
        (["prove", "x.sonde"], "sonde prove REC RULE"),
    ],
)
def test_wrong_usage(words: list[str], message: str, tmp_path: Path) -> None:
    done = sonde(*words, state=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
