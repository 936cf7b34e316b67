"""Costly kind: a kind of overhead or waiting takes much of the step, spread over many lines.

Condition: Python, dispatch, autograd's bookkeeping and allocation together at least 30 % of the step, or waiting for
    threads, locks or other processes at least 15 %, loading at least 5 %, as far as no narrower rule claims it.
    Pages that the kernel hands out and takes back do not count: they grow with the size of tensors, not with calls.
Saving: what the way wins back; for overhead at least nothing, because only a larger batch or a compiled model
    spreads it, and both change more than this.
Not for: time that other programs took, and waiting for pool threads while they had the CPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.account.kinds import CODES, KINDS
from sonde.insights.cold import page_work
from sonde.insights.loading import KEEP, made_again
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.ways import ELSEWHERE, IN_BULK, ONCE, OTHER_HANDS, WAITING, Way

GROUPS: tuple[tuple[tuple[str, ...], float, Way, str], ...] = (
    (("python", "dispatch", "autograd", "allocation"), 0.30, IN_BULK, "Python, dispatch and bookkeeping"),
    (("loading",), 0.05, ELSEWHERE, "Loading"),
    (("barriers", "locks"), 0.15, OTHER_HANDS, "Waiting for threads and locks"),
    (("communication",), 0.15, WAITING, "Waiting for other ranks"),
    (("io", "waiting", "sleep"), 0.15, WAITING, "Waiting for something else"),
)
_FIX = {
    "in bulk": "# larger batches: the same calls do more work each\n"
    "model = torch.compile(model)   # or cheaper calls; may be slower here: prove first",
}


def judge(subject: Subject) -> Iterator[Finding]:
    host = subject.host
    kind, pages = subject.host_kinds, page_work(subject)
    for kinds, least, way, title in GROUPS:
        claim = np.isin(kind, [CODES[k] for k in kinds])
        if subject.crowded:
            claim &= ~host.pool
        if way is IN_BULK:
            claim &= ~pages
        kept = way is ELSEWHERE and made_again(subject)
        if kept:
            way = ONCE
        share = subject.share(claim)
        if share.low < least:
            continue
        sums = {k: float(host.weight[claim & (kind == CODES[k])].sum()) / host.whole_ns for k in kinds}
        lines = subject.lines(claim, 3)
        parts = ", ".join(f"{KINDS[k]} {v:.1%}" for k, v in sums.items() if v >= 0.005)
        yield Finding(
            Insight(
                rule=RULE.name,
                title=f"{title} {'take' if 'and' in title else 'takes'} {share.middle:.0%} of each step ({way.name})",
                why=way.why,
                evidence=(Evidence(f"{parts} of the step"), *lines),
                saving=subject.saving(share, way.won[0] if kept else min(way.won[0], 0.0), way.won[1]),
                confidence="medium" if kept else "low",
                fix=KEEP
                if kept
                else _FIX.get(way.name, way.fix).format(
                    place=f"{lines[0].file.rpartition('/')[2]}:{lines[0].line}" if lines else "the loop"
                ),
                experiment=Experiment("patch"),
                resource="input" if kinds == ("loading",) else "host",
                way=way.name,
            ),
            claim,
        )


RULE = Rule("costly_kind", 54, "samples in steady steps", judge, scope="cpu", breadth=4)
