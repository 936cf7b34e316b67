"""Findings that want the same time, told apart; and what a step would take after all fixes.

On the host one thread makes the steps, so each sample's time can be won once: a finding that is narrower in
cause (see `rule.breadth`) keeps what it claims, a broader one keeps the rest, and is dropped when half of
its claim is another's. Findings on different chains do not add either: a step lasts as long as its
longest chain (host, device with exposed communication), and only that chain's savings shorten it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sonde.insights.model import Insight, Saving
from sonde.insights.rule import LAST_RESORT, Finding, Rule
from sonde.insights.subject import Subject

MOST_OVERLAP = 0.5


def merged(subject: Subject, found: Sequence[tuple[Rule, Finding]], least_share: float) -> list[Finding]:
    """Findings that are left when every sample is claimed once and trifles are dropped."""
    kept: list[Finding] = []
    taken: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
    for rule, finding in sorted(found, key=lambda pair: (pair[0].breadth, -_size(pair[1].insight))):
        insight, claim = finding.insight, finding.claim
        if rule.breadth >= LAST_RESORT and any(_names_a_line(one) for one in kept):
            continue
        if claim is not None and insight.saving is not None:
            weight = subject.host.weight
            if taken is None:
                taken = np.zeros(len(claim), np.bool_)
            whole = float(weight[claim].sum())
            overlap = float(weight[claim & taken].sum()) / whole if whole else 0.0
            if overlap >= MOST_OVERLAP:
                continue
            if overlap:
                insight = replace(insight, saving=_scaled(insight.saving, 1 - overlap))
                finding = Finding(insight, claim & ~taken)
            taken = taken | claim
        if insight.saving is not None and insight.saving.share < least_share:
            continue
        kept.append(finding)
    return kept


def _names_a_line(finding: Finding) -> bool:
    """Whether a card tells what the program itself can change, at a line: its own, or that of its samples."""
    insight = finding.insight
    placed = bool(insight.file) or finding.claim is not None or any(e.file for e in insight.evidence)
    return insight.saving is not None and insight.work != "taken" and placed


def remaining_ms(subject: Subject, kept: Sequence[Finding], step_ms: float) -> float:
    """A step after all fixes with a known saving. What other programs took is not in its length."""
    each = [
        f
        for f in kept
        if f.insight.saving is not None and f.insight.resource != "once" and f.insight.work != "taken"
    ]
    if subject.has_device:
        return _device_step(subject, [f.insight for f in each], step_ms)
    left = 1.0
    won: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None
    for finding in each:
        share = min(_size(finding.insight), 1.0)
        if finding.claim is None:
            left *= 1 - share
            continue
        host = subject.host
        if won is None:
            won = np.zeros(len(host), np.float64)
        claimed = float(host.weight[finding.claim].sum()) / host.whole_ns
        factor = min(share / claimed, 1.0) if claimed else 0.0
        won[finding.claim] = np.maximum(won[finding.claim], factor)
    if won is not None:
        left *= 1 - float((won * subject.host.weight).sum()) / subject.host.whole_ns
    return step_ms * max(left, 0.0)


def _device_step(subject: Subject, insights: Sequence[Insight], step_ms: float) -> float:
    """The longer of two chains: what the device must do, and what the host must do to feed it.

    Idle time is lost on the host's chain (or the input's); busy and exposed communication on the device's.
    """
    shares = [d.time.idle_ns / max(d.time.window_ns, 1) for r in subject.gpu.ranks for d in r.devices]
    idle = sum(shares) / max(len(shares), 1)
    busy = 1 - idle
    won = {"host": 0.0, "input": 0.0, "device": 0.0, "communication": 0.0}
    for insight in insights:
        if insight.resource in won:
            won[insight.resource] = max(won[insight.resource], _size(insight))
    device_left = busy - min(won["device"] + won["communication"], busy)
    idle_left = idle - min(won["host"] + won["input"], idle)
    return step_ms * min(max(device_left + idle_left, 0.0), 1.0)


def _size(insight: Insight) -> float:
    return insight.saving.share if insight.saving is not None else 0.0


def _scaled(saving: Saving, factor: float) -> Saving:
    return Saving(saving.low_ms * factor, saving.high_ms * factor, saving.of_ms)
