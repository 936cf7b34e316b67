"""Rule 38, reference kernels: oneDNN runs its plain, unoptimised implementation.

Condition: samples in `ref_*` implementations take at least 3 % of the step, or in a recorded log they take
    at least 3 % of the primitives' time.
Saving: a reference kernel runs at a few percent of the machine's speed: 60 to 95 % of that time.
Not for: reference code that only prepares (memory descriptors, attributes), and recurrent layers: oneDNN has no
    other float32 implementation of their cells.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Experiment
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.taxed import Tax, taxed

LEAST_SHARE = 0.03
WON_LOW, WON_HIGH = 0.6, 0.95
REFERENCE = (
    r"dnnl::impl::cpu::ref_\w+"
    r"|\bref_(convolution|matmul|inner_product|deconvolution|pooling|softmax|eltwise|binary|lrn)\w*"
)
RECURRENT = r"(?i)rnn|lstm|::gru"


def judge(subject: Subject) -> Iterator[Finding]:
    tax = Tax(
        rule=RULE.name,
        title="oneDNN falls back to a reference kernel for {share} of each step",
        why="No fast implementation takes this combination of type, layout and shape.",
        seen="{share} of the step in ref_* implementations",
        kind="frame",
        name="ref_",
        won=(WON_LOW, WON_HIGH),
        fix="# see why: ONEDNN_VERBOSE=dispatch python script.py | grep 'create:dispatch'\n"
        "# usually a type (float64, integer), a dilated or grouped shape, or a strange layout",
        experiment=Experiment("replay"),
        lines=2,
    )
    recurrent = subject.host_with(RECURRENT, layer="^(native|op)$")
    claim = subject.host_with(REFERENCE, layer="^native$") & ~recurrent
    yield from taxed(subject, claim, LEAST_SHARE, tax)


RULE = Rule(
    "reference_kernels", 38, "samples in steady steps", judge, scope="cpu", breadth=0, way="in another format"
)
