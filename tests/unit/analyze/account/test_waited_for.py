"""Whose work a thread waits for: that of a library's own threads is work, a lock of the program is a wait."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.analyze.account.kinds import NAMES
from sonde.analyze.account.stack_kinds import kind_of_stacks
from sonde.analyze.account.waited_for import work_waited_for
from sonde.analyze.samples.stack_index import StackIndex
from sonde.store import build
from tests.fixtures.walk import Stacks

MS = 1_000_000
Frame = tuple[str, str, dict[str, Any]]
USER: Frame = ("python", "<module>", {"file": "/home/u/train.py", "line": 9})
XLA: Frame = ("native", "absl::Mutex::Await", {"library": "libjax_common.so"})
CONDITION: Frame = ("native", "pthread_cond_wait", {"library": "libc.so.6"})
LOCK: Frame = ("native", "PyThread_acquire_lock_timed", {"library": "libpython3.11.so"})
PRODUCT: Frame = ("native", "xnn_f32_gemm_ukernel", {"library": "libjax_common.so"})


def behind(*frames: Frame, reason: str = "lock", worked: float = 1.0) -> str:
    """The kind behind ten waits of 2 ms at these frames, while another thread works in a part of the time."""
    stacks = Stacks()
    waiting = -1
    for layer, name, extra in frames:
        waiting = stacks.push(waiting, layer, name, **extra)
    working = stacks.push(-1, *PRODUCT[:2], **PRODUCT[2])
    ticks = round(20 * worked)
    times = [(n * 2 * MS, True) for n in range(10)] + [(n * MS + MS // 2, False) for n in range(ticks)]
    waits = [is_wait for _, is_wait in sorted(times)]
    samples = build.table(
        "samples",
        time_ns=[time for time, _ in sorted(times)],
        thread=[0 if wait else 1 for wait in waits],
        stack=[waiting if wait else working for wait in waits],
        state=["waiting" if wait else "running" for wait in waits],
        reason=[reason if wait else None for wait in waits],
        weight_ns=[2 * MS if wait else MS for wait in waits],
    )
    threads = build.table("threads", thread=[0, 1], process=[0, 0], kind=["main", "native"])
    index = StackIndex(*stacks.tables())
    found = work_waited_for(samples, threads, index, kind_of_stacks(index))
    kinds = {
        NAMES[code] if code >= 0 else "" for code in found[samples.text("state").equals("waiting")].tolist()
    }
    assert (found[samples.text("state").equals("running")] == -1).all()
    assert len(kinds) == 1
    return kinds.pop()


def test_a_library_whose_own_threads_work_meanwhile_is_waited_for_as_that_work() -> None:
    assert behind(USER, XLA, CONDITION) == "arithmetic"


@pytest.mark.parametrize(
    ("frames", "reason", "worked"),
    [
        ((USER, XLA, CONDITION), "lock", 0.2),  # nobody works
        ((USER, LOCK, CONDITION), "lock", 1.0),  # a lock that the program's own code holds
        ((USER, XLA, CONDITION), "sleep", 1.0),
        ((USER, XLA, CONDITION), "preempted", 1.0),
        ((XLA, USER, LOCK), "lock", 1.0),  # the library called the program back
    ],
)
def test_other_waits_stay_waits(frames: tuple[Frame, ...], reason: str, worked: float) -> None:
    assert behind(*frames, reason=reason, worked=worked) == ""
