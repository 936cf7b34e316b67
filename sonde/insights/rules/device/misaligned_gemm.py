"""Rule 45, misaligned GEMM: half-precision products whose dimensions are not multiples of eight.

Condition: float16 or bfloat16 products with one of the last two dimensions of an input not divisible by 8
    cause at least 5 % of the device's kernel time and 6 % of the step.
Saving: padding moves them to aligned tiles: 5 to 40 % of that time.
Not for: float32, products under 64 in every dimension.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.nesting import sum_up
from sonde.insights.devices import device_saving, devices
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.rules.kernels.bf16_without_hardware import half_precision
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05
LEAST_OF_STEP = 0.06  # of the step: on a device that mostly idles these products shorten nothing
MULTIPLE = 8
PRODUCTS = r"^aten::(mm|addmm|bmm|baddbmm|_scaled_mm)$"


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    kernels = subject.table("kernels")
    at = rows_of(calls.ops.array("op"), kernels.array("op"))
    own = np.zeros(len(calls.ops), np.int64)
    linked = at >= 0
    np.add.at(own, at[linked], (kernels.array("end_ns") - kernels.array("start_ns"))[linked])
    device_ns = sum_up(calls.parent, own)
    rows = [
        r
        for r in np.flatnonzero(calls.named(PRODUCTS) & half_precision(calls)).tolist()
        if _odd(calls.shapes(r))
    ]
    spent = float(device_ns[rows].sum()) if rows else 0.0
    busy = float(sum(d.time.busy_ns for d in devices(subject)))
    share = spent / max(busy, 1.0)
    of_step = spent / max(float(sum(d.time.window_ns for d in devices(subject))), 1.0)
    if share < LEAST_SHARE or of_step < LEAST_OF_STEP:
        return
    worst = max(rows, key=lambda r: int(device_ns[r]))
    file, line = calls.place(worst)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Products whose sizes are not multiples of 8 take {share:.0%} of the GPU's time",
            why="Tensor cores work on tiles of eight; other sizes are padded inside or run on slower kernels.",
            evidence=(
                Evidence(
                    f"{calls.ops.text('name')[worst]} {calls.shapes(worst)[:3]}", "op", "aten::mm", file, line
                ),
            ),
            saving=device_saving(subject, 0.05 * of_step, 0.4 * of_step),
            confidence="medium",
            fix="vocabulary = 64 * math.ceil(vocabulary / 64)   # pad vocabulary, heads and sequence "
            "to multiples of 8 or 64",
            experiment=Experiment("replay"),
            resource="device",
        )
    )


def _odd(shapes: list[object]) -> bool:
    found = [s for s in shapes if isinstance(s, list) and len(s) >= 2]
    sizes = [n for s in found for n in s[-2:] if isinstance(n, int)]
    return bool(sizes) and max(sizes) >= 64 and any(n % MULTIPLE for n in sizes if n > 1)


RULE = Rule(
    "misaligned_gemm",
    45,
    "operator calls with types, device events",
    judge,
    scope="gpu",
    breadth=0,
    way="in another format",
)
