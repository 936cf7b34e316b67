"""Rule 2, kernel-to-kernel gaps: queued kernels with short pauses between them.

Condition: gaps under 30 µs before kernels that were queued in time add up to at least 5 % of the window.
Saving: Σ gaps·(1 - 1/fusion factor): 20 to 80 % of them.
Not for: gaps that wait for the host (rule 1) or for other streams.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.devices import device_saving, devices, mean_share
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05  # catalogue, rule 2
MOSTLY_GRAPHS = 0.3  # of the device's time: the launches between kernels are gone already (ours)


def judge(subject: Subject) -> Iterator[Finding]:
    share = mean_share(subject, lambda d: d.idle.kernel_ns)
    if share < LEAST_SHARE or max((r.graphs.share for r in subject.gpu.ranks), default=0.0) >= MOSTLY_GRAPHS:
        return
    found = devices(subject)
    gaps = sum(d.idle.gaps for d in found)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Short gaps between queued kernels cost {share:.0%} of the time",
            why="Between two kernels the device needs a few microseconds; fewer, larger kernels need fewer of them.",
            evidence=(
                Evidence(f"{share:.1%} of the window in gaps under 30 µs ({gaps:,} gaps of all kinds)"),
            ),
            saving=device_saving(subject, 0.2 * share, 0.8 * share),
            confidence="medium",
            fix="model = torch.compile(model)   # fuses pointwise kernels; mode='reduce-overhead' adds CUDA graphs",
            experiment=Experiment("patch"),
            resource="device",
        )
    )


RULE = Rule("kernel_gaps", 2, "device events with launches", judge, scope="gpu", breadth=1, way="in bulk")
