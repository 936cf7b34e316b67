"""Rule 50b, memory growth: resident memory rises from step to step and never falls.

Condition: over the steady steps (at least 5 readings) the lower bound of the Theil-Sen slope of RSS is
    positive, four fifths of the readings rise, and the growth is at least 5 % of RSS and 32 MB.
Saving: none in time that can be known before; the program ends when memory does.
Not for: growth that levels off (caches, warm-up), which shows as a third of the run that hardly grows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from sonde.analyze.account.kinds import CODES
from sonde.columns import Array
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

FEWEST_READINGS = 5
LEAST_GROWTH, LEAST_BYTES = 0.05, 32 << 20
LEAST_RISING = 0.8


def judge(subject: Subject) -> Iterator[Finding]:
    time_s, rss = _readings(subject)
    if len(rss) < FEWEST_READINGS:
        raise NotEnough(
            f"{len(rss)} readings of memory in steady steps, {FEWEST_READINGS} needed: run longer"
        )
    low, middle = theil_sen(time_s, rss)
    parts = _parts(len(rss))
    each = [(rss[p[-1]] - rss[p[0]]) / max(float(time_s[p[-1]] - time_s[p[0]]), 1e-9) for p in parts]
    grown = middle * float(time_s[-1] - time_s[0])
    rising = float((np.diff(rss) > 0).mean())
    levels_off = min(each) < 0.3 * middle
    if (
        low <= 0
        or levels_off
        or grown < max(LEAST_GROWTH * float(rss.mean()), LEAST_BYTES)
        or rising < LEAST_RISING
    ):
        return
    per_step = middle * subject.mean_step_ns / 1e9
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Memory grows by {per_step / 1e3:.0f} kB in every step and is never given back",
            why="Something keeps tensors, often losses or outputs with their whole graph, in a list.",
            evidence=(
                Evidence(
                    f"resident memory rose from {rss[0] / 1e6:.0f} to {rss[-1] / 1e6:.0f} MB over "
                    f"{subject.steady_steps} steps"
                ),
                Evidence(f"at least {low / 1e6:.1f} MB per second, at the end as at the start"),
                *_keeping(subject),
            ),
            saving=_allocating(subject),
            confidence="high",
            fix="history.append(loss.item())       # or loss.detach(), never the loss with its graph\n"
            "# find what is kept: sonde show REC memory",
            experiment=Experiment("patch"),
            work="allocation",
        )
    )


def _keeping(subject: Subject) -> Iterator[Evidence]:
    """Lines of the user's loops that add something to a list as it is."""
    for file, facts in subject.source_facts.items():
        for line in sorted(facts.keeps)[:2]:
            yield Evidence(
                f"{file.rpartition('/')[2]}:{line} adds to a list in a loop", "line", "", file, line
            )


def _allocating(subject: Subject) -> Saving | None:
    """What fresh memory costs: the part of the step in the allocator and in page faults."""
    try:
        claim = subject.host_kinds == CODES["allocation"]
        share = subject.share(claim)
    except NotEnough:
        return None
    return subject.saving(share, 0.3) if share.low > 0 else None


def _parts(count: int) -> list[Array]:
    """Thirds of the readings (halves of few), each with the last reading of the one before."""
    edges = np.linspace(0, count - 1, 4 if count >= 9 else 3).astype(np.int64)
    return [np.arange(a, b + 1) for a, b in itertools.pairwise(edges.tolist())]


def _readings(subject: Subject) -> tuple[Array, Array]:
    counters = subject.table("counters")
    rows = counters.text("name").equals("rss_bytes") & (counters.array("process") == subject.report.process)
    time_ns, value = counters.array("time_ns")[rows], counters.array("value")[rows]
    inside = (time_ns >= subject.steady.starts[0]) & (time_ns < subject.steady.ends[-1])
    order = np.argsort(time_ns[inside], kind="stable")
    return time_ns[inside][order] / 1e9, value[inside][order]


def theil_sen(x: Array, y: Array) -> tuple[float, float]:
    """(lower bound, median) of the slopes of all pairs; the bound leaves 2.5 % below by Kendall's variance."""
    count = len(x)
    if count < 3:
        return 0.0, 0.0
    if count > 400:  # a long run: thin out, pairs grow with the square
        keep = np.linspace(0, count - 1, 400).astype(np.int64)
        x, y, count = x[keep], y[keep], 400
    i, j = np.triu_indices(count, 1)
    apart = x[j] > x[i]
    slopes = np.sort((y[j] - y[i])[apart] / (x[j] - x[i])[apart])
    if not len(slopes):
        return 0.0, 0.0
    reach = 1.96 * np.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    at = int(max((len(slopes) - reach) / 2, 0))
    return float(slopes[at]), float(np.median(slopes))


RULE = Rule(
    "memory_growth", 50, "readings of resident memory", judge, scope="cpu", breadth=-1, way="incrementally"
)
