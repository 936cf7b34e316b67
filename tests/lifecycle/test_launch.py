"""`launch` is invisible: exit codes, deaths and Ctrl-C are the program's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.errors import UsageError
from sonde.record.outside.launch import LaunchOptions, agent_environment, launch
from sonde.record.outside.target import CommandTarget

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]


def test_exit_code_usage_and_times(program: Program, tmp_path: Path) -> None:
    before = time.monotonic_ns()
    result = launch(CommandTarget([str(program("dies")), "exit3"]), tmp_path, LaunchOptions())
    assert (result.exit_code, result.signal) == (3, 0)
    assert 0.14e9 < result.user_ns + result.system_ns < 0.4e9
    assert before <= result.start_ns < result.end_ns <= time.monotonic_ns()
    assert result.max_rss_bytes > 100_000
    assert len(list((tmp_path / "raw").glob(f"{result.pid}.*.slog"))) == 1


def test_death_by_signal_is_kept(program: Program, tmp_path: Path) -> None:
    result = launch(CommandTarget([str(program("dies")), "segv"]), tmp_path, LaunchOptions())
    assert (result.exit_code, result.signal) == (-signal.SIGSEGV, signal.SIGSEGV)


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        (["/nonexistent/program"], LaunchOptions(), "was not found"),
        (["/etc/passwd"], LaunchOptions(), "cannot be executed"),
        ([], LaunchOptions(), "no command"),
        (["true"], LaunchOptions(rate_hz=0), "0 Hz"),
        (["true"], LaunchOptions(engine="magic"), "magic"),
    ],
)
def test_what_cannot_run_says_so(
    tmp_path: Path, command: list[str], options: LaunchOptions, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        launch(CommandTarget(command), tmp_path, options)


def test_what_was_preloaded_stays_preloaded(tmp_path: Path) -> None:
    environment = agent_environment(tmp_path, LaunchOptions(), {"LD_PRELOAD": "/lib/other.so"}, 1)
    agent, other = environment["LD_PRELOAD"].split(":")
    assert agent.endswith("libsonde_agent.so")
    assert other == "/lib/other.so"


INTERRUPTED = """
import signal, sys, time
def on_interrupt(number, frame):
    print("interrupted", number, flush=True); sys.exit(42)
signal.signal(signal.SIGINT, on_interrupt)
signal.signal(signal.SIGTERM, on_interrupt)
print("ready", flush=True)
while True: pass
"""
LAUNCHER = """
import sys
from pathlib import Path
from sonde.record.outside.launch import LaunchOptions, launch
from sonde.record.outside.target import CommandTarget
result = launch(CommandTarget([sys.executable, "-c", sys.argv[2]]), Path(sys.argv[1]), LaunchOptions())
print("survived", result.exit_code, flush=True)
"""


@pytest.mark.parametrize("to_group", [True, False])
def test_ctrl_c_reaches_the_program_and_sonde_survives(tmp_path: Path, to_group: bool) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(tmp_path), INTERRUPTED],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    if to_group:  # the terminal
        os.killpg(process.pid, signal.SIGINT)
    else:  # kill, a job scheduler
        os.kill(process.pid, signal.SIGTERM)
    number = int(signal.SIGINT if to_group else signal.SIGTERM)
    assert process.communicate(timeout=30)[0] == f"interrupted {number}\nsurvived 42\n"
    assert process.returncode == 0


ASKED = "import signal; print([int(signal.getsignal(s) == signal.SIG_IGN) for s in (1, 2, 15)])"


def test_what_was_ignored_stays_ignored(tmp_path: Path) -> None:
    """`nohup sonde run train.py &`: the program must survive the hang-up as it would without Sonde."""
    found = []
    for words in ([sys.executable, "-c", ASKED], [sys.executable, "-c", LAUNCHER, str(tmp_path), ASKED]):
        process = subprocess.run(
            ["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh", *words],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        found.append(process.stdout.splitlines()[0])
    assert found == ["[1, 1, 0]", "[1, 1, 0]"]


def test_the_process_that_starts_programs_stays_small() -> None:
    """numpy and DuckDB are loaded apart: where memory is short, the program must still run."""
    code = "import sys, sonde.cli.run, sonde.record.outside.always; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "duckdb", "rich", "torch"} & set(loaded.split())
