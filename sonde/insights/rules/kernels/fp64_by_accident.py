"""Float64 by accident: products and kernels on doubles although the default dtype is float32.

Condition: tensors of float64 (at least 1024 elements) take at least 10 % of the recorded steps, and torch's
    default dtype is float32.
Saving: doubles move twice the bytes and fill half the lanes: 35 to 85 % (caches hold twice as much) of that
    time.
Not for: programs that set float64 as default, and scalars (Python numbers are doubles).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import text_mask
from sonde.insights.calls import elements
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10
FEWEST_ELEMENTS = 1024
WON_LOW, WON_HIGH = 0.35, 0.85


def judge(subject: Subject) -> Iterator[Finding]:
    if subject.settings.get("default_dtype") == "float64":
        return
    calls = subject.calls
    double = text_mask(calls.ops.text("dtypes"), r'"double"') & calls.main
    at = np.flatnonzero(double)
    rows = np.zeros(len(double), np.bool_)
    rows[at] = (
        calls.each_kind(at, lambda r: _has_large_double(calls.dtypes(r), calls.shapes(r)), "dtypes", "shapes")
        > 0
    )
    share = calls.share(rows)
    if share < LEAST_SHARE:
        return
    top = calls.heaviest(rows)
    shown = f"{top.name} on float64 tensors {calls.shapes(top.row)[:3]}"
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{share:.0%} of each step computes in float64",
            why="NumPy makes doubles by default; they take twice the memory and half the speed of float32.",
            evidence=(
                Evidence(shown, "op", top.name, top.file, top.line),
                Evidence(f"default dtype is {subject.settings.get('default_dtype', 'not recorded')}"),
            ),
            saving=subject.saving(subject.call_share(rows), WON_LOW, WON_HIGH),
            confidence="high",
            fix="x = torch.from_numpy(array).float()   # and model.float()",
            experiment=Experiment("patch", note="check that the accuracy of float32 suffices"),
        )
    )


def _has_large_double(dtypes: list[object], shapes: list[object]) -> bool:
    return any(d == "double" and elements(s) >= FEWEST_ELEMENTS for d, s in zip(dtypes, shapes, strict=False))


RULE = Rule(
    "fp64_by_accident",
    42,
    "operator calls with types",
    judge,
    scope="cpu",
    breadth=0,
    way="in another format",
)
