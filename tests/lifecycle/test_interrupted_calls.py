"""A tick does not change what a waiting call returns: EINTR when a signal of the program ends it, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lifecycle.recorded import Run, run, ticks

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]

RATE_HZ = 4000  # one wake-up in fifty meets a tick


def sampled(binary: Path, *words: str) -> Run:
    result = run([binary, *words], rate_hz=RATE_HZ)
    assert result.code == 0
    assert ticks(result.main()) > 20
    return result


@pytest.mark.parametrize(
    ("way", "rounds"), [("alarm", 3000), ("queued", 3000), ("idle", 3000), ("pause", 3000), ("prof", 1000)]
)
def test_a_signal_ends_a_call_although_a_tick_comes_with_it(program: Program, way: str, rounds: int) -> None:
    result = sampled(program("interrupted_calls"), way, str(rounds))
    assert result.output == f"{way}: {rounds} interrupted, 0 read, rewound 0\n"
    # Of some fifty that another thread takes in place of this one. On a busy machine some come before the call.
    assert int(result.errors) < 30


def test_a_signal_with_sa_restart_does_not_end_a_call(program: Program) -> None:
    result = sampled(program("interrupted_calls"), "restart", "3000")
    assert result.output == "restart: 0 interrupted, 3000 read, rewound 0\n"


@pytest.mark.parametrize("way", ["slow", "onstack"])
def test_a_tick_at_the_end_of_a_handler_leaves_what_the_handler_ended(program: Program, way: str) -> None:
    assert sampled(program("interrupted_calls"), way, "500").output == f"{way}: lost 0\n"


def test_fork_is_never_interrupted(program: Program) -> None:
    assert sampled(program("interrupted_calls"), "fork", "500").output == "fork: failed 0\n"


@pytest.mark.parametrize(
    "call",
    ["poll", "ppoll", "select", "epoll", "nanosleep", "clock_nanosleep", "usleep", "semaphore", "recv"],
)
def test_without_a_signal_no_call_is_interrupted(program: Program, call: str) -> None:
    rounds = "600" if call == "recv" else "3000"  # its timeout is a whole tick of the kernel
    assert sampled(program("interrupted_calls"), "quiet", call, rounds).output == f"{call}: interrupted 0\n"
