"""The alternate stack and the signal policy: the program's handlers, masks and stacks are as without the agent,
nothing is written where the stack pointer happens to be, and every thread goes on being sampled."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sonde.ingest.agent.log import WALK_ENDS, RawLog
from tests.lifecycle.recorded import PROGRAMS, cpu_s, losses, run, share_under, ticks, weights_s

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]

FRAME_JIT, FRAME_SCANNED, FRAME_EVAL = 1, 4, 8


def ended(log: RawLog, how: str) -> int:
    """Samples whose walk ended so."""
    return int((log.samples.walk_end == WALK_ENDS.index(how)).sum())


@pytest.mark.parametrize("way", ["row", "ahead", "jump", "frame"])
def test_a_stack_pointer_in_the_heap_is_left_alone_and_led_home(program: Program, way: str) -> None:
    binary = program("heap_stack")
    result = run([binary, way, "0.4"])
    assert (result.code, result.output) == (0, f"{way}: 0 words of the block changed\n")
    log = result.main()
    assert ticks(log) > 100
    share, count = share_under(log, binary, "runs_kernel", ["runs_kernel"])
    # A tick may fall into the few instructions between the loops, or into main.
    assert (share, count) == (1.0, pytest.approx(ticks(log), rel=0.05))
    assert ended(log, "root") == pytest.approx(ticks(log), rel=0.05)


def test_a_stack_pointer_without_a_way_home_is_counted(program: Program) -> None:
    result = run([program("heap_stack"), "lost", "0.4"])
    assert (result.code, result.output) == (0, "lost: 0 words of the block changed\n")
    assert ended(result.main(), "off_stack") == pytest.approx(ticks(result.main()), rel=0.05)


def test_off_its_stack_a_python_thread_still_has_its_interpreter_frames() -> None:
    result = run([sys.executable, PROGRAMS / "heap_stack.py"])
    assert (result.code, result.output) == (0, "changed 0\n")
    log = result.main()
    off = log.samples.native[log.samples.walk_end == WALK_ENDS.index("off_stack")]
    assert len(off) > 0.7 * ticks(log)
    leaf = log.nodes.flags[off - 1]
    assert ((leaf & (FRAME_JIT | FRAME_SCANNED)) == FRAME_JIT | FRAME_SCANNED).mean() > 0.95
    caller = log.nodes.flags[log.nodes.parent[off - 1] - 1]
    assert ((caller & FRAME_EVAL) != 0).mean() > 0.95


@pytest.mark.parametrize("rate_hz", [100, 2000])
def test_handlers_run_on_the_stack_and_with_the_mask_that_the_program_asked_for(
    program: Program, rate_hz: int
) -> None:
    binary = program("signal_stacks")
    alone = run([binary], agent=False)
    assert (alone.code, len(alone.output.splitlines())) == (0, 1446)
    result = run([binary], rate_hz=rate_hz)
    differ = [
        pair
        for pair in itertools.zip_longest(alone.output.splitlines(), result.output.splitlines())
        if pair[0] != pair[1]
    ]
    assert differ == []
    assert result.code == 0
    assert losses(result.main()) == {}


@pytest.mark.parametrize(
    ("prof", "segv", "thread"),
    list(itertools.product(["none", "empty", "full"], ["none", "full", "onstack"], ["none", "all"])),
)
def test_guarded_reads_may_fault_whatever_the_program_blocks(
    program: Program, prof: str, segv: str, thread: str
) -> None:
    result = run([program("signal_masks"), "masks", prof, segv, thread])
    assert (result.code, result.output) == (0, "handlers ran 0 times\n")
    log = result.main()
    assert losses(log) == {}
    if thread == "none" or prof == "none":  # a program that uses SIGPROF and blocks it gets no ticks either
        assert ticks(log) > 50
        assert result.main().statistics["faults_guarded"] > 50
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)


@pytest.mark.parametrize("how", ["timeouts", "sent"])
def test_a_handler_that_jumps_away_leaves_the_thread_sampled(program: Program, how: str) -> None:
    result = run([program("signal_masks"), how, "1"])
    assert (result.code, result.output) == (0, "jumped: 1\n")
    log = result.main()
    assert "reentrant_sample" not in losses(log)
    main = log.samples.thread == 0
    assert ticks(log) > 500
    # To the end: the last quarter has its samples.
    times = np.sort(log.samples.time_ns[main])
    late = times > times[0] + 0.75 * (times[-1] - times[0])
    assert late.sum() > 0.1 * main.sum()


@pytest.mark.parametrize("size", [0, 8 << 10, 64 << 10])
def test_a_stack_set_by_the_bare_system_call_is_never_overflowed(program: Program, size: int) -> None:
    binary = program("raw_stacks")
    result = run([binary, str(size), "0.3"])
    assert (result.code, result.output) == (0, "0 bytes changed\nstill its own: 1\n")
    log = result.main()
    count = share_under(log, binary, "own_work", ["own_work"])[1]
    if size == 8 << 10:  # no room for the handler, and that is said
        assert losses(log)["small_signal_stack"] > 100
        assert count == 0
    else:
        assert losses(log) == {}
        assert count > 100
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)
