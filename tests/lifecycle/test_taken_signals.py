"""Signals that the program waits for: its own SIGPROF is kept for it while it believes it blocked, and a tick is never
its signal and never ends its wait."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lifecycle.recorded import cpu_s, losses, run, ticks, weights_s

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]


@pytest.mark.parametrize(("order", "rate_hz"), list(itertools.product(["waits", "descriptor"], [100, 2000])))
def test_a_blocked_sigprof_of_the_program_is_neither_lost_nor_deadly(
    program: Program, order: str, rate_hz: int
) -> None:
    binary = program("taken_signals")
    alone = run([binary, order], agent=False)
    assert (alone.code, len(alone.output.splitlines())) == (-signal.SIGPROF, 24)
    result = run([binary, order], rate_hz=rate_hz)
    assert result.output.splitlines() == alone.output.splitlines()
    assert result.code == alone.code


WAITS = ["any", "one", "pending", "descriptor"]
MASKED = ["ppoll", "pselect", "epoll_pwait", "sigsuspend"]


@pytest.mark.parametrize(
    ("kind", "during"),
    [(kind, "open") for kind in WAITS] + list(itertools.product(MASKED, ["open", "blocked", "handler"])),
)
def test_a_tick_is_no_signal_and_ends_no_wait(program: Program, kind: str, during: str) -> None:
    result = run([program("waits_often"), kind, "0.4", during], rate_hz=4000)
    assert (result.code, result.output) == (0, "0 wrong\n")
    log = result.main()
    assert "threads_signal_taken" not in losses(log)
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.02)
    if during != "handler":
        assert ticks(log) > 20
