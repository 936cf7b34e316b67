"""Threads that nobody told the agent of are found and sampled; what cannot be sampled is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.ingest.agent.log import WALK_RESIDUAL, RawLog
from tests.lifecycle.recorded import cpu_s, losses, run, symbol_range, ticks, weights_s

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]


def whole_stacks_s(log: RawLog, program: Path) -> float:
    """CPU time of samples whose stack goes from the leaf through both functions of the thread.

    Not their number: on a busy machine ticks come late, and each stands for more.
    """
    ranges = [symbol_range(program, name) for name in ("hidden_leaf", "hidden_work")]
    found_ns = 0
    for node, weight_ns in zip(log.samples.native.tolist(), log.samples.weight_ns.tolist(), strict=True):
        met = [False, False]
        while node:
            pc = int(log.nodes.pc[node - 1])
            met = [was or low <= pc < high for was, (low, high) in zip(met, ranges, strict=True)]
            node = int(log.nodes.parent[node - 1])
        found_ns += weight_ns if all(met) else 0
    return found_ns / 1e9


@pytest.mark.parametrize("kind", ["c11", "leaves", "older", "clone"])
def test_a_thread_that_does_not_come_by_pthread_create_is_sampled(program: Program, kind: str) -> None:
    binary = program("unknown_threads")
    result = run([binary, kind, "3"], rate_hz=100)
    assert (result.code, result.output, result.errors) == (0, f"{kind} 42\n", "")
    log = result.main()
    assert losses(log) == {}
    # Three seconds; of the first half second of an adopted one only the CPU time is known.
    assert whole_stacks_s(log, binary) > (2.8 if kind in ("c11", "leaves") else 1.8)
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
