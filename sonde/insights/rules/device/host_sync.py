"""Rule 4, host synchronisation: the host waits for the device inside the step, and the device becomes idle.

Condition: the idle time of the device that synchronising calls open (bubbles) is at least 5 % of the window.
Saving: the bubbles, 50 to 100 %.
Not for: waits that cost the device nothing: it still has queued work when the host comes back; idle time in which
    the host makes the next batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.devices import device_saving, mean_rank_share, mean_share
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05


def judge(subject: Subject) -> Iterator[Finding]:
    share = mean_rank_share(subject, lambda r: float(sum(s.bubble_ns for s in r.syncs)))
    # After the wait the host may make the next batch: then the device is idle for that (`gpu_input`).
    share = min(
        share, mean_share(subject, lambda d: d.time.idle_ns - d.verdict.shares["input"] * d.time.window_ns)
    )
    if share < LEAST_SHARE:
        return
    points = sorted((s for r in subject.gpu.ranks for s in r.syncs), key=lambda s: -s.bubble_ns)
    shown = [s for s in points if s.bubble_ns][:3]
    first = shown[0]
    where = f"{first.op} ({first.call})" if first.op else first.call
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Waiting for the GPU in {where} leaves it idle {share:.0%} of the time",
            why="While the host waits it queues nothing; when it continues, the device is idle.",
            evidence=tuple(
                Evidence(
                    f"{s.op or 'outside operators'}: {s.count} × {s.call}, host waited {s.waited_ns / 1e6:.1f} ms, "
                    f"device idle {s.bubble_ns / 1e6:.1f} ms",
                    "op",
                    s.op or s.call,
                )
                for s in shown
            ),
            saving=device_saving(subject, 0.5 * share, share),
            confidence="high",
            fix="if step % 50 == 0: print(loss.item())      # not in every step\n"
            "x = torch.where(mask, a, b)                # instead of boolean indexing, nonzero, if tensor:\n"
            'torch.cuda.set_sync_debug_mode("warn")      # shows the lines that wait',
            experiment=Experiment("patch"),
            resource="host",
        )
    )


RULE = Rule(
    "host_sync", 4, "device events and runtime calls", judge, scope="gpu", breadth=0, way="less often"
)
