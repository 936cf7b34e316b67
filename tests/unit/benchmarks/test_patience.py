"""Starved is not hung, and hung is: by figures of the kernel's as they are in either case."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.lib.patience import Patience, Turn, turns_of_session, until_its_end

SECOND = 1_000_000_000


def test_six_seconds_of_work_that_take_five_minutes_are_no_hang() -> None:
    """JAX at load 24: one thread after the other stands in line, and hardly ever all sleep."""
    patience = Patience(limit_s=60)
    for look in range(1, 61):
        patience.look(
            5.0,
            {
                1: Turn(look * SECOND // 20, look * 24 * SECOND // 10),
                2: Turn(look * SECOND // 20, look * 25 * SECOND // 10),
            },
        )
    assert not patience.is_over()
    assert patience.own_s == pytest.approx(60 * (5 - 4.9))
    assert patience.ran_s == pytest.approx(6)
    assert patience.waited_s == pytest.approx(294)


def test_threads_that_only_sleep_are_hung() -> None:
    patience = Patience(limit_s=60)
    turns = {1: Turn(6 * SECOND, 40 * SECOND), 2: Turn(SECOND, 0)}
    patience.look(48.0, turns)  # what they waited before is theirs, too
    assert patience.own_s == pytest.approx(8)
    for _ in range(11):
        patience.look(5.0, turns)
    assert patience.is_over()


def test_threads_that_spin_in_a_crowd_are_hung() -> None:
    patience = Patience(limit_s=60)
    for look in range(1, 14):
        patience.look(5.0, {1: Turn(look * 5 * SECOND, look * 5 * SECOND)})
    assert patience.own_s == 0
    assert patience.is_over()


def test_the_kernel_is_asked_for_every_thread_of_the_session() -> None:
    """A child of the leader, and a thread with work that has a known length."""
    program = (
        "import os, sys, threading, time\n"
        "def work():\n"
        "    while time.thread_time() < 0.05: pass\n"
        "    done.set(); time.sleep(60)\n"
        "done = threading.Event(); threading.Thread(target=work, daemon=True).start(); done.wait()\n"
        "print('ready', flush=True); sys.stdin.read(); os._exit(0)\n"
    )
    leader = [
        sys.executable,
        "-c",
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])",
    ]
    with subprocess.Popen(
        leader, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        turns = turns_of_session(process.pid)
        process.communicate()
    assert len(turns) == 3
    assert sum(turn.ran_ns >= 0.05 * SECOND for turn in turns.values()) >= 1
    assert os.getpid() not in turns


def test_a_guest_that_sleeps_for_ever_is_killed_with_what_it_wrote() -> None:
    command = [sys.executable, "-c", "import signal; print('before', flush=True); signal.pause()"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    output, errors, hung = until_its_end(process, limit_s=1.0)
    assert (output, errors) == (b"before\n", b"")
    assert "without waiting for a CPU" in hung
    assert process.returncode == -9
