"""Rule 42, float32 where bfloat16 hardware is there (CPU).

Condition: the CPU has AMX, float32 products and convolutions take at least 30 % of the
    step, and the matmul precision is "highest".
Saving: at most 85 % of that time. It may as well be slower: shapes and conversions decide. Accuracy changes: a relative
    error of about 2e-3 per product.
Not for: CPUs with AVX-512 BF16 only, where "medium" made a product-bound loop 49 % slower, and programs in lower
    precision already.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import MATH_OP, host_layers
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.rules.kernels.bf16_without_hardware import half_precision
from sonde.insights.subject import Subject

LEAST_SHARE = 0.30


def judge(subject: Subject) -> Iterator[Finding]:
    settings = subject.need_settings()
    flags = set(settings.get("cpu_flags") or ())
    amx = "amx_bf16" in flags
    if not amx:
        return
    if settings.get("float32_matmul_precision", "highest") != "highest":
        return
    calls = subject.calls
    if (half_precision(calls) & calls.named(MATH_OP)).any():
        return
    claim = host_layers(subject).math
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{share.middle:.0%} of each step is float32 products on a CPU with AMX",
            why="bfloat16 products run on units that float32 leaves idle.",
            evidence=(Evidence(f"{share.middle:.1%} of the step in float32 products and convolutions"),),
            saving=subject.saving(share, 0.4, 0.85),
            confidence="medium",
            fix='torch.set_float32_matmul_precision("medium")   # or: with torch.autocast("cpu", torch.bfloat16):',
            experiment=Experiment(
                "flag",
                code='import torch; torch.set_float32_matmul_precision("medium")',
                note="relative error of products rises from 1e-6 to about 2e-3: check your results",
            ),
        ),
        claim,
    )


RULE = Rule(
    "fp32_precision",
    42,
    "CPU flags, samples",
    judge,
    scope="cpu",
    breadth=1,
    trial=True,
    way="in another format",
)
