"""Threads that nobody told the agent of are found and sampled; what cannot be sampled is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.ingest.agent.log import WALK_RESIDUAL, RawLog
from tests.lifecycle.recorded import cpu_s, losses, run, symbol_range, ticks, weights_s

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]


def whole_stacks(log: RawLog, program: Path) -> int:
    """Samples whose stack goes from the leaf through both functions of the thread."""
    ranges = [symbol_range(program, name) for name in ("hidden_leaf", "hidden_work")]
    count = 0
    for node in log.samples.native.tolist():
        met = [False, False]
        while node:
            pc = int(log.nodes.pc[node - 1])
            met = [was or low <= pc < high for was, (low, high) in zip(met, ranges, strict=True)]
            node = int(log.nodes.parent[node - 1])
        count += all(met)
    return count


@pytest.mark.parametrize("kind", ["c11", "leaves", "older", "clone"])
def test_a_thread_that_does_not_come_by_pthread_create_is_sampled(program: Program, kind: str) -> None:
    binary = program("unknown_threads")
    result = run([binary, kind, "3"], rate_hz=100)
    assert (result.code, result.output, result.errors) == (0, f"{kind} 42\n", "")
    log = result.main()
    assert losses(log) == {}
    # 300 ticks; of the first half second of an adopted one only the CPU time is known.
    assert whole_stacks(log, binary) > (240 if kind in ("c11", "leaves") else 180)
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)
    residual = log.samples.weight_ns[log.samples.walk_end == WALK_RESIDUAL].sum() / 1e9
    assert residual < (0.2 if kind in ("c11", "leaves") else 1.2)
    assert len(log.threads.number) == len(set(log.threads.tid.tolist()))  # none is there twice


# A thread pointer that is not libc's; two threads of libc's own, which block all signals.
@pytest.mark.parametrize(("kind", "count"), [("foreign", 1), ("libc", 2)])
def test_what_cannot_be_sampled_is_left_alone_and_counted(program: Program, kind: str, count: int) -> None:
    result = run([program("unknown_threads"), kind, "2"], rate_hz=100)
    assert (result.code, result.output, result.errors) == (0, f"{kind} 42\n", "")
    assert losses(result.main()) == {"threads_unknown": count}
    assert weights_s(result.main()) == pytest.approx(cpu_s(result.main()), rel=0.01)


def test_much_thread_local_memory_does_not_keep_the_agent_out(program: Program) -> None:
    result = run([program("large_tls"), "0.4"])
    assert (result.code, result.output, result.errors) == (0, "1\n", "")
    assert ticks(result.main()) > 100
