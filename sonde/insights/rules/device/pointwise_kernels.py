"""Rule 3 on devices, small pointwise kernels: eager elementwise kernels that a compiler would fuse.

Condition: elementwise kernels of eager torch take at least 15 % of the window, and there are at least 20 of
    them per step.
Saving: a chain of k such kernels makes k passes over memory, fused about one and a half: 20 to 60 % of that
    time.
Not for: kernels that Inductor or Triton made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.analyze.ranks.summary import RankSummary
from sonde.insights.devices import device_saving, mean_rank_share
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.15
FEWEST_PER_STEP = 20
EAGER = re.compile(r"(vectorized|unrolled|legacy)?_?elementwise_kernel|at::native::.*elementwise")


def judge(subject: Subject) -> Iterator[Finding]:
    share = mean_rank_share(subject, _eager_ns)
    calls = sum(k.calls for r in subject.gpu.ranks for k in r.kernels if EAGER.search(k.name))
    per_step = calls / max(len(subject.gpu.ranks), 1) / subject.device_steps
    if share < LEAST_SHARE or per_step < FEWEST_PER_STEP:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Elementwise kernels take {share:.0%} of the time, each with its own pass over memory",
            why="Each reads and writes whole tensors; fused kernels keep values in registers.",
            evidence=(
                Evidence(f"{per_step:,.0f} elementwise kernels per step", "kernel", "elementwise_kernel"),
            ),
            saving=device_saving(subject, 0.2 * share, 0.6 * share),
            confidence="medium",
            fix="model = torch.compile(model)",
            experiment=Experiment("patch"),
            resource="device",
        )
    )


def _eager_ns(rank: RankSummary) -> float:
    return float(sum(k.total_ns for k in rank.kernels if EAGER.search(k.name)))


RULE = Rule(
    "pointwise_kernels", 3, "device events", judge, scope="gpu", breadth=1, trial=True, way="in one pass"
)
