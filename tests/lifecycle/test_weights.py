"""The sum of weights is the CPU time, whatever the program does and whatever the kernel permits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suites.split import binomial_interval
from sonde.ingest.agent.log import THREAD_KINDS, WALK_RESIDUAL
from tests.lifecycle.recorded import Run, cpu_s, losses, run, share_under, ticks, weights_s

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become nobody")


def check_sum(result: Run, unfollowed: float = 0.005) -> None:
    """By rusage as the log has it and as whoever waits for the program sees it, with what comes after the
    log's end. `unfollowed` bounds the share that the log adds as a lump, so that it cannot hide a loss."""
    log = result.main()
    assert result.code == 0
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)
    before_exec = sum(weights_s(one) for one in result.logs() if one.header.start_ns < log.header.start_ns)
    assert weights_s(log) + before_exec == pytest.approx(result.cpu_s, rel=0.01)
    lump = log.threads.cpu_ns[log.threads.kind == THREAD_KINDS.index("unknown")].sum() / 1e9
    assert lump < unfollowed * cpu_s(log)
    assert "ring_full" not in losses(log)


def check_stacks(result: Run, rate_hz: int) -> None:
    """The time is on stacks, not just counted at the end: what is left then is a gap like any between ticks.
    Gaps grow on a crowded machine, where the kernel's timer tick often finds another program running: by how much
    shows in how long these programs, which never wait, took for their CPU time."""
    log = result.main()
    samples = log.samples
    assert log.footer is not None
    crowd = max(1.0, (log.footer.end_ns - log.header.start_ns) / 1e9 / cpu_s(log))
    program, at_the_end = samples.thread == 0, samples.walk_end == WALK_RESIDUAL
    longest_gap_ns = samples.weight_ns[program & ~at_the_end].max()
    assert samples.weight_ns[program & at_the_end].sum() < 2 * max(longest_gap_ns, 1e9 / rate_hz)
    assert longest_gap_ns < min(0.1e9 * crowd, 0.5e9 * cpu_s(log))


@pytest.mark.parametrize("rate_hz", [50, 100, 500, 1000])
@pytest.mark.parametrize("name", ["page_faults", "system_calls"])
def test_kernel_time_is_counted(program: Program, name: str, rate_hz: int) -> None:
    result = run([program(name), "0.8"], rate_hz=rate_hz)
    check_sum(result)
    check_stacks(result, rate_hz)
    assert ticks(result.main()) > 0.8 * rate_hz * 0.8 or not result.main().header.engine.endswith("+kernel")


@needs_root
@pytest.mark.parametrize("rate_hz", [50, 100, 500, 1000])
@pytest.mark.parametrize("name", ["page_faults", "system_calls"])
def test_kernel_time_is_counted_without_privileges(program: Program, name: str, rate_hz: int) -> None:
    result = run([program(name), "0.8"], rate_hz=rate_hz, nobody=True)
    check_sum(result)
    check_stacks(result, rate_hz)
    assert result.main().header.engine in ("perf+timer", "timer")


@pytest.mark.parametrize(
    ("engine", "rate_hz"), [("timer+kernel", 100), ("perf+kernel", 200), ("perf+timer", 200), ("timer", 200)]
)
def test_each_engine_counts_user_time(program: Program, engine: str, rate_hz: int) -> None:
    result = run([program("split"), "0.6", "2"], rate_hz=rate_hz, engine=engine)
    check_sum(result)
    expected = 1.2 * rate_hz
    # A thread that lost its CPU for a while asks for the next tick of the grid from wherever it stands, which is nearer
    # than a period: up to a third more ticks on a crowded machine.
    if result.main().header.engine == engine != "timer":
        assert 0.8 * expected < ticks(result.main()) < 1.4 * expected
    # The timer ticks only when the kernel's own tick meets the thread: few on a crowded machine.
    assert 0.1 * expected < ticks(result.main()) < 1.4 * expected


@pytest.mark.parametrize("nobody", [False, pytest.param(True, marks=needs_root)])
def test_perf_refused_by_a_filter_falls_back_to_the_timer(program: Program, nobody: bool) -> None:
    """What a container or perf_event_paranoid=3 does; as nobody there are no capabilities either."""
    result = run([program("without_perf"), program("split"), "0.5"], rate_hz=1000, nobody=nobody)
    check_sum(result)
    assert result.main().header.engine == "timer"
    assert ticks(result.main()) > 10  # 50 at least when alone


def test_busy_threads_beyond_a_few_share_their_ticks(program: Program) -> None:
    """Here beyond one, of two. Rarer ticks weigh more: the sum stays."""
    result = run([program("split"), "4.0", "2"], 200, environment={"SONDE_AGENT_FULL_RATE_THREADS": "1"})
    check_sum(result)
    log = result.main()
    assert log.footer is not None
    busy = cpu_s(log) / ((log.footer.end_ns - log.header.start_ns) / 1e9)
    if busy < 1.3:
        pytest.skip(f"this machine had {busy:.1f} CPUs for two threads")
    assert 200 / 2.1 < log.statistics["lowest_rate_hz"] < 200 / (0.8 * busy)
    alone = run([program("split"), "4.0", "2"], 200).main()
    assert alone.statistics["lowest_rate_hz"] == 200
    # The first second and a half is at the full rate, and so would be the last if one ended early.
    assert ticks(log) < 0.9 * ticks(alone)


def test_threads_that_run_tick_together(program: Program) -> None:
    """Ticks of their own would lie a quarter of a period from the other thread's nearest, in the middle: 2.5 ms."""
    log = run([program("split"), "2.0", "2"], rate_hz=100).main()
    assert log.footer is not None
    busy = cpu_s(log) / ((log.footer.end_ns - log.header.start_ns) / 1e9)
    if busy < 1.7:
        pytest.skip(f"this machine had {busy:.1f} CPUs for two threads")
    samples = log.samples
    ticked = samples.walk_end != WALK_RESIDUAL
    numbers, counts = np.unique(samples.thread[ticked], return_counts=True)
    one, other = (
        np.sort(samples.time_ns[ticked & (samples.thread == n)]) for n in numbers[np.argsort(-counts)][:2]
    )
    apart_ns = np.abs(one[:, None] - other[None, :]).min(axis=1)
    assert len(one) > 100
    assert np.median(apart_ns) < 0.2e6, np.percentile(apart_ns, [10, 50, 90])
    spaces = np.diff(one) / 10e6
    assert spaces.min() > 0.2
    assert np.unique(spaces.round(1)).size >= 3, (
        "no jitter"
    )  # 4, 8, 12 and 16 ms where the kernel ticks at 250 Hz


def test_short_threads_are_counted_even_when_never_sampled(program: Program) -> None:
    result = run([program("thread_churn"), "200", "1.5"], rate_hz=100)
    check_sum(result, unfollowed=0.05)  # the kernel's end of threads
    log = result.main()
    assert int((log.threads.kind == 0).sum()) == 200
    assert (log.threads.cpu_ns >= 0).all()
    assert (log.threads.end_ns >= log.threads.start_ns).all()


def test_few_descriptors_are_left_to_the_program(program: Program) -> None:
    result = run(["sh", "-c", f"ulimit -n 40; exec {program('small_stacks')} 20 0.05"], rate_hz=1000)
    check_sum(result)
    assert "perf_scarce" not in losses(result.main()), "short threads need none"


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("engine", "rate_hz", "seconds"),
    [("timer+kernel", 100, 3.0), ("perf+kernel", 997, 1.0), ("perf+timer", 997, 1.0), ("timer", 997, 1.0)],
)
def test_a_known_split_is_found(
    program: Program, engine: str, rate_hz: int, seconds: float, threads: int
) -> None:
    binary = program("split")
    result = run([binary, str(seconds), str(threads)], rate_hz=rate_hz, engine=engine)
    log = result.main()
    share, count = share_under(log, binary, "seventy", ["seventy", "thirty"])
    truth = float(result.output)
    assert count > 30 * threads  # the timer engine on a crowded machine
    low, high = binomial_interval(count, truth, 0.999)
    assert low <= round(share * count) <= high
