"""Rule 41, primitives created in steady state: oneDNN makes new kernels in every step.

Condition: samples in oneDNN's creation of primitives and code generation take at least 3 % of steady steps
    (catalogue: 1 %; above it, for the noise of sampling).
Saving: that share, 80 to 280 %: fresh code also runs from cold caches and fresh memory.
Not for: creation during warm-up, which every program pays once.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Experiment
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.taxed import Tax, taxed

LEAST_SHARE = 0.03
WON_LOW, WON_HIGH = 0.8, 2.8
CREATES = (
    r"dnnl::impl::.*(primitive_desc_t::create|create_primitive|primitive_t::create|init_conf"
    r"|init_kernel|create_kernel)"
    r"|dnnl_primitive(_desc)?_create|dnnl_primitive_desc_iterator|jit_generator.*(create|generate)"
    r"|Xbyak::|::generate\b"
    r"|primitive_cache|create_primitive_common|dnnl::primitive_desc"
)


def judge(subject: Subject) -> Iterator[Finding]:
    tax = Tax(
        rule=RULE.name,
        title="oneDNN makes new kernels in every step: {share} of its time",
        why="Each new shape needs code of its own; a cache keeps it only while shapes repeat.",
        seen="{share} of steady steps creates primitives",
        kind="frame",
        name="dnnl_primitive_create",
        won=(WON_LOW, WON_HIGH),
        fix="# use few sizes: pad or crop inputs to a handful of buckets\n"
        "side = 32 * math.ceil(side / 32)\n"
        "export ONEDNN_PRIMITIVE_CACHE_CAPACITY=4096   # when the sizes do repeat",
        experiment=Experiment(
            "environment",
            environment={"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "4096"},
            note="helps only when shapes repeat; else bucket them",
        ),
        lines=3,
        work="compiling",
    )
    yield from taxed(subject, subject.host_with(CREATES, layer="^native$"), LEAST_SHARE, tax)


RULE = Rule("primitive_creation", 41, "samples in steady steps", judge, scope="cpu", breadth=0, way="once")
