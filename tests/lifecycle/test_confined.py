"""A program behind a seccomp filter that kills for every system call it does not make itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lifecycle.recorded import cpu_s, losses, run, ticks, weights_s

Program = Callable[[str], Path]


@pytest.mark.parametrize(
    ("how", "rate_hz"), list(itertools.product(["prctl", "syscall", "every"], [100, 1000]))
)
def test_a_filter_kills_nothing_for_what_only_sonde_would_call(
    program: Program, how: str, rate_hz: int
) -> None:
    binary = program("filtered")
    alone = run([binary, how], agent=False)
    assert (alone.code, alone.output) == (3, "alive\n")
    result = run([binary, how], rate_hz=rate_hz)
    assert (result.code, result.output) == (3, "alive\n")
    log = result.main()
    if how == "every":  # binds Sonde's own thread as well: the log ends before it
        assert losses(log)["threads_confined"] == 1
    else:
        assert losses(log)["threads_confined"] == 3
        assert losses(log)["child_not_followed"] == 1
        assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.05)
    assert ticks(log) > 10
