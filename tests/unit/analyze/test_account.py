"""The account from tables with known content."""

from __future__ import annotations

import pytest

from sonde.analyze.recording.account import WAITED, account
from sonde.columns import Table, Text
from sonde.store import build

S = 10**9


def tables(cpu_s: list[float], sampled_s: list[float], waited_s: float | None = None) -> dict[str, Table]:
    """One thread and one sample per process; -1 for a process that did not report its CPU time."""
    count = len(cpu_s)
    counters = build.empty("counters")
    if waited_s is not None:
        counters = build.table(
            "counters", time_ns=[0], process=[-1], name=Text.of([WAITED]), value=[waited_s * S]
        )
    return {
        "processes": build.table(
            "processes",
            process=range(count),
            pid=range(100, 100 + count),
            cpu_user_ns=[round(s * S) if s >= 0 else -1 for s in cpu_s],
            cpu_system_ns=[0 if s >= 0 else -1 for s in cpu_s],
        ),
        "threads": build.table("threads", thread=range(count), process=range(count)),
        "frames": build.table("frames", frame=[0, 1], layer=Text.of(["native", "label"])),
        "stacks": build.table("stacks", stack=[0, 1], parent=[-1, -1], frame=[0, 1]),
        "samples": build.table(
            "samples",
            thread=range(count),
            stack=[0] * count,
            state=Text.of(["running"] * count),
            walk=Text.of(["root"] * count),
            weight_ns=[round(s * S) for s in sampled_s],
        ),
        "counters": counters,
    }


def test_all_known_and_all_sampled() -> None:
    found = account(tables([2.0, 1.0], [2.0, 1.0], waited_s=3.0))
    assert found.share == 1.0
    assert not found.is_missing
    assert (found.unknown, found.unsampled, found.surplus_ns) == (0, 0, 0)


@pytest.mark.parametrize("waited_s", [None, 0.5, 3.0])
def test_the_share_is_never_above_one(waited_s: float | None) -> None:
    """Killed processes report nothing; one that reports less than its samples stand for is no reason for 460 %."""
    found = account(tables([0.1, -1.0, -1.0, 0.5], [0.1, 4.0, 3.0, 0.9], waited_s))
    assert found.share is not None
    assert found.share <= 1.0
    assert found.unknown == 2
    assert found.surplus_ns == pytest.approx(0.4 * S)
    assert found.is_surplus


def test_killed_processes_are_known_by_who_waited() -> None:
    found = account(tables([1.0, -1.0], [1.0, 1.5], waited_s=3.0))
    assert found.whole_ns == 3 * S
    assert found.share == pytest.approx(2.5 / 3)
    assert found.missing_ns == pytest.approx(0.5 * S)
    assert found.is_missing


def test_programs_of_one_process_are_added_up() -> None:
    chain = tables([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], waited_s=3.0)
    chain["processes"] = chain["processes"].with_columns(
        pid=build.table("processes", pid=[7, 7, 7]).array("pid")
    )
    found = account(chain)
    assert (found.share, found.processes) == (1.0, 1)


def test_processes_without_samples_are_told_apart_from_what_is_missing() -> None:
    found = account(tables([1.0, 0.4, 0.4], [1.0, 0.0, 0.0], waited_s=1.8))
    assert found.share == pytest.approx(1.0 / 1.8)
    assert (found.unsampled, found.unsampled_ns) == (2, round(0.8 * S))
    assert not found.is_missing


def test_the_ends_of_processes_are_no_loss() -> None:
    assert not account(tables([1.0], [1.0], waited_s=1.012)).is_missing
    assert account(tables([1.0], [1.0], waited_s=1.1)).is_missing


def test_remainders_with_and_without_a_place() -> None:
    given = tables([1.0, 1.0], [1.0, 1.0])
    samples = given["samples"].with_columns(walk=Text.of(["residual", "residual"]))
    given["samples"] = samples.with_columns(stack=build.table("samples", stack=[0, 1]).array("stack"))
    found = account(given)
    assert (found.spread_ns, found.unplaced_ns, found.share) == (S, S, 1.0)


def test_an_imported_recording_has_no_share() -> None:
    found = account(tables([-1.0], [1.0]))
    assert (found.whole_ns, found.share) == (None, None)
