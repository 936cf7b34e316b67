"""Rule 1, host-bound GPU: the device waits because the host has not launched the next kernel yet.

Condition: idle gaps whose next launch began after the gap did, without synchronisations and data loading,
    are at least 10 % of the device's window (HTA's host-wait test).
Saving: those gaps at most; a step cannot get shorter than the device's busy time. From 30 % of them up.
Not for: long gaps at the start and end of a trace, idle time after synchronisations (rule 4) and in data loading
    (rule 18).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.devices import device_saving, devices, mean_rank_share, mean_share
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10  # catalogue, rule 1
MOSTLY_GRAPHS = 0.3  # of the device's time: graphs are in use already (ours)
USE_GRAPHS = (
    'model = torch.compile(model, mode="reduce-overhead")   # CUDA graphs: one launch for many kernels\n'
    "# or a larger batch: more work per launch"
)
BETWEEN_GRAPHS = (
    "# graphs are replayed already: the host is late between them. Prepare the next inputs while a graph runs,\n"
    "# or put more work into each graph; see what the host does there: sonde show REC ops"
)


def judge(subject: Subject) -> Iterator[Finding]:
    waits = mean_share(subject, lambda d: d.idle.host_ns - d.idle.edge_ns)
    replays = max((r.graphs.share for r in subject.gpu.ranks), default=0.0) >= MOSTLY_GRAPHS
    loading = mean_share(subject, lambda d: d.verdict.shares["input"] * d.time.window_ns)
    bubbles = mean_rank_share(subject, lambda r: float(sum(s.bubble_ns for s in r.syncs)))
    syncing = mean_share(subject, lambda d: d.idle.sync_ns)
    share = waits - min(loading + max(bubbles - syncing, 0.0), waits)
    if share < LEAST_SHARE:
        return
    found = devices(subject)
    busy = mean_share(subject, lambda d: d.time.busy_ns)
    gaps = sum(d.idle.gaps for d in found)
    kernels = sum(d.time.events for d in found)
    each_us = sum(d.time.busy_ns for d in found) / max(kernels, 1) / 1e3
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The GPU is idle {share:.0%} of the time because the host launches too slowly",
            why="Python and dispatch take longer to launch the next kernel than a kernel runs.",
            evidence=(
                Evidence(f"the device is busy {busy:.0%} of the time; {share:.0%} it waits for a launch"),
                Evidence(f"{kernels:,} device events of {each_us:.0f} µs on average, {gaps:,} gaps"),
            ),
            saving=device_saving(subject, 0.3 * share, share),
            confidence="low" if replays else "high" if share > 2 * LEAST_SHARE else "medium",
            fix=BETWEEN_GRAPHS if replays else USE_GRAPHS,
            experiment=Experiment(
                "patch", note="a cheap test: twice the batch takes much less than twice the time"
            ),
            resource="host",
        )
    )


RULE = Rule("host_bound_gpu", 1, "device events with launches", judge, scope="gpu", breadth=1, way="in bulk")
