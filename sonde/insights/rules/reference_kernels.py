"""Rule 38, reference kernels: oneDNN runs its plain, unoptimised implementation.

Condition: samples in `ref_*` implementations take at least 3 % of the step, or in a recorded log they take
    at least 3 % of the primitives' time.
Saving: a reference kernel runs at a few percent of the machine's speed: 60 to 95 % of that time.
Not for: reference code that only prepares (memory descriptors, attributes).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.03
REFERENCE = (
    r"dnnl::impl::cpu::ref_\w+"
    r"|\bref_(convolution|matmul|inner_product|deconvolution|pooling|softmax|eltwise|binary|lrn)\w*"
)


def judge(subject: Subject) -> Iterator[Finding]:
    claim = subject.host_with(REFERENCE, layer="^native$")
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"oneDNN falls back to a reference kernel for {share.middle:.0%} of each step",
            why="No fast implementation takes this combination of type, layout and shape.",
            evidence=(
                Evidence(f"{share.middle:.1%} of the step in ref_* implementations", "frame", "ref_"),
                *subject.lines(claim, 2),
            ),
            saving=subject.saving(share, 0.6, 0.95),
            confidence="high",
            fix="# see why: ONEDNN_VERBOSE=dispatch python script.py | grep 'create:dispatch'\n"
            "# usually a type (float64, integer), a dilated or grouped shape, or a strange layout",
            experiment=Experiment("replay"),
        ),
        claim,
    )


RULE = Rule("reference_kernels", 38, "samples in steady steps", judge, scope="cpu", breadth=0)
