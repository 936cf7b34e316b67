"""`sonde attach`: a program that already runs is recorded, and does not notice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sonde.machine.attachable import obstacles
from sonde.store.reader import open_recording
from tests.live.attach_cycles import KINDS, MANY, PROGRAMS, campaign, caught, is_possible, leftovers, timers

pytestmark = pytest.mark.serial
PATIENCE_S = 240.0

Running = subprocess.Popen[bytes]
Start = Callable[..., Running]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program and waits until it says that it is ready; ends it afterwards."""
    running: list[Running] = []

    def begin(*command: str | Path, **variables: str) -> Running:
        words = [str(word) for word in command]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, env={**os.environ, **variables})
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def sonde(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sonde", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def end_of(process: Running, stop: Path) -> str:
    stop.touch()
    said = process.communicate(timeout=PATIENCE_S)[0].decode().strip()
    assert process.returncode == 0
    return said


def rows(recording: Path, sql: str) -> list[dict[str, object]]:
    result = sonde("query", recording, sql, "--json")
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    found: list[dict[str, object]] = answer["rows"] if isinstance(answer, dict) else answer
    return found


def test_training_is_recorded_with_steps_operators_and_owners(start: Start, tmp_path: Path) -> None:
    stop, recording = tmp_path / "stop", tmp_path / "now.sonde"
    process = start(sys.executable, PROGRAMS / "train.py", stop, str(MANY))
    result = sonde("attach", process.pid, "-d", "6", "-o", recording)
    assert result.returncode == 0, result.stderr
    assert leftovers(process.pid) == []
    steps, checksum = end_of(process, stop).split()
    alone = subprocess.run(
        [sys.executable, PROGRAMS / "train.py", "never", steps], capture_output=True, text=True, check=True
    )
    assert alone.stdout.split()[1:] == [steps, checksum]
    opened = open_recording(recording)
    assert opened.meta.source == "attach"
    assert opened.meta.complete
    counted = rows(recording, "SELECT count(*) AS n FROM marks WHERE kind = 'step'")
    assert 0 < int(str(counted[0]["n"])) < int(steps)
    used_ns = opened.meta.details["rusage"]["user_ns"]  # by the kernel's clock of the process
    sampled = rows(recording, "SELECT sum(weight_ns)::BIGINT AS ns FROM samples WHERE state <> 'waiting'")
    assert int(str(sampled[0]["ns"])) == pytest.approx(used_ns, rel=0.01, abs=20e6)
    workers = rows(
        recording,
        "SELECT count(*) AS n, count(*) FILTER (owner >= 0) AS owned FROM samples JOIN threads USING (thread) "
        "WHERE kind = 'omp' AND state IN ('running', 'imbalance') AND walk <> 'residual'",
    )
    assert int(str(workers[0]["owned"])) >= 0.9 * int(str(workers[0]["n"])) > 0
    # A thread that moves while its stack is read is normal.
    assert rows(recording, "SELECT * FROM losses WHERE cause <> 'wait_changed'") == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("train", "jax_train", "loader")])
def test_a_program_does_not_notice_that_sonde_came_and_went(kind: str) -> None:
    if not is_possible(kind):
        pytest.skip(f"needs what {kind} needs: apt-get install libjemalloc2")
    outcome = campaign(kind, cycles=3)
    assert outcome.is_unharmed, outcome
    assert outcome.cycles == 3


def test_a_wait_that_the_kernel_does_not_restart_is_not_interrupted(start: Start, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    process = start(sys.executable, PROGRAMS / "waits.py", stop)
    for number in range(3):
        assert sonde("attach", process.pid, "-d", "0.5", "-o", tmp_path / f"{number}.sonde").returncode == 0
    assert end_of(process, stop) == "True 0"


def test_timers_and_handlers_come_with_the_agent_and_go_with_it(start: Start, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    process = start(sys.executable, PROGRAMS / "server.py", stop, str(MANY))
    before = caught(process.pid)
    words = ["attach", str(process.pid), "-d", "60", "--quiet", "-o", str(tmp_path / "now.sonde")]
    with subprocess.Popen([sys.executable, "-m", "sonde", *words]) as first:
        deadline = time.monotonic() + PATIENCE_S
        while "SIGPROF" not in caught(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        while not timers(process.pid) and time.monotonic() < deadline and not perf_events(process.pid):
            time.sleep(0.05)
        assert leftovers(process.pid)
        first.send_signal(signal.SIGINT)
    assert first.returncode == 0
    assert leftovers(process.pid) == []
    assert perf_events(process.pid) == []
    assert caught(process.pid) == before
    end_of(process, stop)


def perf_events(pid: int) -> list[str]:
    """Descriptors of the kernel's performance events."""
    found = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()]
    return [name for name in found if "perf_event" in name]


def test_a_second_attach_is_refused_and_the_first_goes_on(start: Start, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    process = start(sys.executable, PROGRAMS / "waits.py", stop)
    words = [
        sys.executable,
        "-m",
        "sonde",
        "attach",
        str(process.pid),
        "-d",
        "60",
        "-o",
        str(tmp_path / "first.sonde"),
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as first:
        deadline = time.monotonic() + PATIENCE_S
        while not list(tmp_path.glob("first.sonde/raw/*.slog")) and time.monotonic() < deadline:
            time.sleep(0.05)
        second = sonde("attach", process.pid, "-d", "1", "-o", tmp_path / "second.sonde")
        assert second.returncode == 4
        assert "another attach is under way" in second.stderr
        assert not (tmp_path / "second.sonde").exists()
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE_S)
        assert first.returncode == 0
    assert open_recording(tmp_path / "first.sonde").meta.complete
    assert end_of(process, stop) == "True 0"


def running(pid: int) -> list[str]:
    """What still does something by itself: all that is left but handlers."""
    return [what for what in leftovers(pid) if not what.startswith("handler of")]


def test_when_the_one_who_attached_is_killed_the_agent_leaves(start: Start, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    process = start(sys.executable, PROGRAMS / "waits.py", stop)
    words = [sys.executable, "-m", "sonde", "attach", str(process.pid), "-o", str(tmp_path / "cut.sonde")]
    deadline = time.monotonic() + PATIENCE_S
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as killed:
        while not list(tmp_path.glob("cut.sonde/raw/*.slog")) and time.monotonic() < deadline:
            time.sleep(0.05)
        killed.kill()
    # Only who attached can take the threads' alternate stacks back: till the next attach handlers stay, and pass on.
    while running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running(process.pid) == []
    again = sonde("attach", process.pid, "-d", "0.5", "-o", tmp_path / "again.sonde")
    assert again.returncode == 0, again.stderr
    assert leftovers(process.pid) == []
    assert end_of(process, stop) == "True 0"


def test_a_program_that_ends_meanwhile_leaves_a_whole_recording(start: Start, tmp_path: Path) -> None:
    stop, recording = tmp_path / "stop", tmp_path / "ended.sonde"
    process = start(sys.executable, PROGRAMS / "waits.py", stop)
    words = [sys.executable, "-m", "sonde", "attach", str(process.pid), "-d", "100", "-o", str(recording)]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as attached:
        deadline = time.monotonic() + PATIENCE_S
        while not list(recording.glob("raw/*.slog")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert end_of(process, stop) == "True 0"
        attached.communicate(timeout=PATIENCE_S)
        assert attached.returncode == 0
    assert open_recording(recording).meta.complete


def test_an_agent_that_sleeps_is_woken_without_ptrace_and_sleeps_again(start: Start, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    process = start(
        sys.executable, "-m", "sonde", "run", "--dormant", "--", sys.executable, PROGRAMS / "waits.py", stop
    )
    assert leftovers(process.pid)  # it sleeps
    for number in range(2):
        result = sonde("attach", process.pid, "-d", "0.5", "-o", tmp_path / f"{number}.sonde")
        assert result.returncode == 0, result.stderr
        assert "no thread was paused for more than 0.0 ms" in result.stderr
    assert end_of(process, stop) == "True 0"


def test_what_cannot_be_entered_is_refused_before_anything_is_touched(start: Start, tmp_path: Path) -> None:
    binary = tmp_path / "static"
    subprocess.run(["gcc", "-static", "-o", binary, PROGRAMS / "static.c"], check=True)
    static = start(binary)
    assert "linked statically" in sonde("attach", static.pid).stderr
    assert "not possible" in sonde("check", "--pid", static.pid).stdout
    static.send_signal(signal.SIGSTOP)
    while not any("is stopped" in one.reason for one in obstacles(static.pid)):
        time.sleep(0.01)
    assert "kill -CONT" in sonde("attach", static.pid).stderr
    gone = sonde("attach", 1 << 22)
    assert gone.returncode == 4
    assert "there is no process" in gone.stderr
    if shutil.which("musl-gcc"):
        subprocess.run(["musl-gcc", "-o", tmp_path / "musl", PROGRAMS / "static.c"], check=True)
        assert "musl" in sonde("attach", start(tmp_path / "musl").pid).stderr
    assert not list(Path.cwd().glob("static*.sonde"))
