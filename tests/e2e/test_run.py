"""`sonde run` as a user types it: output, exit codes and signals are the program's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.serial

BUSY = """
import sys, time
def spin(seconds):
    end = time.process_time() + seconds
    total = 0
    while time.process_time() < end:
        total += sum(range(500))
    return total
"""


def sonde(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonde", *map(str, words)],
        text=True, capture_output=True, timeout=200, **options,
    )  # type: ignore[call-overload, no-any-return]  # fmt: skip


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "prog.py"
    path.write_text(
        BUSY + "print('out', *sys.argv[1:]); print('err', file=sys.stderr); spin(0.5)\n"
        "sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)\n"
    )
    return path


def test_output_and_exit_code_are_the_programs_own(script: Path, tmp_path: Path) -> None:
    done = sonde("run", "-o", tmp_path / "r.sonde", script, "7", "--flag")
    assert done.returncode == 7
    assert done.stdout == "out 7 --flag\n"
    assert done.stderr.startswith("err\n")
    assert "sonde: prog.py ran" in done.stderr
    assert len(done.stderr.splitlines()) <= 27


def test_quiet_adds_nothing(script: Path, tmp_path: Path) -> None:
    done = sonde("run", "--quiet", "-o", tmp_path / "r.sonde", script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")


def test_modules_and_commands(script: Path, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    (tmp_path / "pack" / "__main__.py").write_text("import sys; print('module', sys.argv[1])\n")
    clone = str(Path(__file__).resolve().parents[2])
    done = sonde("run", "-q", "-m", "pack", "x", cwd=tmp_path, env={**os.environ, "PYTHONPATH": clone})
    assert done.returncode == 2, "-q is no option: --quiet is"
    done = sonde("run", "--quiet", "-m", "pack", "x", cwd=tmp_path, env={**os.environ, "PYTHONPATH": clone})
    assert (done.returncode, done.stdout) == (0, "module x\n")
    done = sonde("run", "--quiet", "-o", tmp_path / "c.sonde", "--", "sh", "-c", "echo shell; exit 3")
    assert (done.returncode, done.stdout) == (3, "shell\n")


def test_python_line_of_the_program_is_found(script: Path, tmp_path: Path) -> None:
    sonde("run", "--quiet", "--rate", "500", "-o", tmp_path / "r.sonde", script)
    lines = sonde("export", tmp_path / "r.sonde", "-f", "collapsed").stdout.splitlines()
    total = sum(int(line.rpartition(" ")[2]) for line in lines)
    inside = sum(int(line.rpartition(" ")[2]) for line in lines if "spin (prog.py:" in line)
    assert inside >= 0.4e9, "half a second of CPU time was spent in spin"
    assert inside <= total
    shown = json.loads(sonde("show", tmp_path / "r.sonde", "quality", "--json").stdout)
    assert shown["cpu_s"]["sampled"] == pytest.approx(shown["cpu_s"]["rusage"], rel=0.01)


def test_death_by_signal_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "dies.py"
    path.write_text(BUSY + "import os, signal; spin(0.3); os.kill(os.getpid(), signal.SIGTERM)\n")
    done = sonde("run", "--quiet", "-o", tmp_path / "r.sonde", path)
    assert done.returncode == -signal.SIGTERM
    assert sonde("show", tmp_path / "r.sonde", "stacks").returncode == 0


def test_ctrl_c_reaches_the_program_and_the_recording_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "waits.py"
    path.write_text(
        BUSY + "try:\n    print('ready', flush=True); spin(30)\n"
        "except KeyboardInterrupt:\n    print('caught', flush=True); sys.exit(9)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "sonde", "run", "-o", str(tmp_path / "r.sonde"), str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (9, "caught\n"), err
    assert "sonde: waits.py ran" in err


def test_killed_program_can_be_recovered(tmp_path: Path) -> None:
    path = tmp_path / "killed.py"
    path.write_text(BUSY + "print('ready', flush=True); spin(60)\n")
    folder = tmp_path / "r.sonde"
    process = subprocess.Popen(
        [sys.executable, "-m", "sonde", "run", "-o", str(folder), str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(2.0)
    os.killpg(process.pid, signal.SIGKILL)  # the program and Sonde at once, half-way
    process.communicate()
    refused = sonde("show", folder, "stacks")
    assert refused.returncode == 3
    assert "sonde recover" in refused.stderr
    done = sonde("recover", folder)
    assert done.returncode == 0, done.stderr
    assert sonde("show", folder, "stacks").returncode == 0
    found = json.loads(
        sonde("query", folder, "--json", "SELECT max(time_ns) t, sum(weight_ns) w FROM samples").stdout
    )
    processes = json.loads(sonde("query", folder, "--json", "SELECT start_ns FROM processes").stdout)
    covered_s = (found[0]["t"] - processes[0]["start_ns"]) / 1e9
    assert covered_s >= 1.5, "all but the last half second of the two seconds it lived"


def test_never_overwrites_without_force(script: Path, tmp_path: Path) -> None:
    assert sonde("run", "--quiet", script, cwd=tmp_path).returncode == 0
    assert sonde("run", "--quiet", script, cwd=tmp_path).returncode == 0
    assert {p.name for p in tmp_path.glob("*.sonde")} == {"prog.sonde", "prog-2.sonde"}
    done = sonde("run", "-o", tmp_path / "prog.sonde", script)
    assert done.returncode == 2
    assert "--force" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "no program given"),
        (["run", "nothing.py"], "does not exist"),
        (["run", "--", "no-such-command"], "does not exist"),
        (["run", "--rate", "0", "x.py"], "out of range"),
        (["run", "--window", "soon", "x.py"], "not understood"),
    ],
)
def test_wrong_usage_is_exit_code_2(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("pass\n")
    done = sonde(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.glob("*.sonde"))
