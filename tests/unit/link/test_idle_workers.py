"""A pool's worker that waits for its next task is idle; one that waits inside a task is not."""

from __future__ import annotations

from sonde.link.idle_workers import with_idle_workers
from sonde.store import build


def test_only_the_wait_for_a_task_is_idle() -> None:
    tables = {
        "frames": build.table(
            "frames",
            frame=[0, 1, 2],
            layer=["native", "native", "op"],
            name=["blas_thread_server", "pthread_cond_wait", "aten::mm"],
        ),
        # 0: loop, 1: loop > wait, 2: loop > operator, 3: loop > operator > wait, 4: a wait elsewhere
        "stacks": build.table(
            "stacks", stack=[0, 1, 2, 3, 4], parent=[-1, 0, 0, 2, -1], frame=[0, 1, 2, 1, 1]
        ),
        "samples": build.table(
            "samples",
            time_ns=[1, 2, 3, 4],
            thread=[0] * 4,
            stack=[1, 3, 4, 1],
            state=["waiting"] * 4,
            reason=["lock", "lock", "lock", "preempted"],
            weight_ns=[1] * 4,
        ),
    }
    found = with_idle_workers(tables)["samples"]
    assert found.text("reason").tolist() == ["idle", "lock", "lock", "preempted"]
