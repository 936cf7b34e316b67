"""Rule 43, bfloat16 on a processor without instructions for it.

Condition: matrix products or convolutions on bfloat16 (or float16) on the CPU take at least 5 % of the
    recorded steps, and the CPU has none of avx512_bf16, amx_bf16, avx_ne_convert, bf16 (Arm) or sve.
Saving: emulated products run at a fraction of float32's speed: 35 to 98 % of their time, and the casts with
    them.
Not for: processors with such instructions, and devices.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask, text_mask
from sonde.insights.calls import Calls
from sonde.insights.host_layers import MATH_OP
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05
HARDWARE = {"avx512_bf16", "amx_bf16", "avx_ne_convert", "bf16", "sve"}
WON_LOW, WON_HIGH = 0.35, 0.98


def judge(subject: Subject) -> Iterator[Finding]:
    flags = subject.need_settings().get("cpu_flags")
    if flags is None:
        raise NotEnough("the CPU's instructions were not recorded: record with sonde run")
    if HARDWARE & set(flags):
        return
    calls = subject.calls
    low = half_precision(calls) & calls.main
    math = low & calls.named(MATH_OP)
    casts = low & calls.named(r"^aten::(to|_to_copy|copy_)$") & ~calls.inside(math)
    share, cast = calls.share(math), calls.share(casts)
    if share < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title="bfloat16 is slower than float32 on this processor",
            why="Without instructions for it each product is computed in float32 after converting its inputs.",
            evidence=(
                Evidence(
                    f"{share:.1%} of the step in bfloat16 products, {cast:.1%} in casts", "op", "aten::addmm"
                ),
                Evidence(
                    f"this CPU has {', '.join(flags) or 'no vector extensions'}, and nothing for bfloat16"
                ),
            ),
            saving=subject.saving(subject.call_share(math | casts), WON_LOW, WON_HIGH),
            confidence="high",
            fix='with torch.autocast("cpu", enabled=False):   # or no autocast, and the model in float32\n    ...',
            experiment=Experiment(
                "flag",
                code="import torch; torch.set_autocast_enabled('cpu', False); "
                "torch.set_autocast_enabled = lambda *a: None",
                note="float32 needs twice the memory for activations",
            ),
        )
    )


def half_precision(calls: Calls) -> Mask:
    """Calls whose first inputs are bfloat16 or float16."""
    dtypes = calls.ops.text("dtypes")
    found: Mask = text_mask(dtypes, r"BFloat16|c10::Half|\bHalf\b|bf16|float16")
    return np.asarray(found, np.bool_)


RULE = Rule(
    "bf16_without_hardware",
    43,
    "operator calls with types, CPU flags",
    judge,
    scope="cpu",
    breadth=0,
    way="in another format",
)
