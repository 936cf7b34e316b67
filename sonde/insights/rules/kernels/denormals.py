"""Rule 36, denormals: numbers below 1.2e-38 that the processor handles in slow paths.

Condition: flushing is off, and plain pointwise float32 operators (add, mul, sub) on at least 64 k
    contiguous elements take more than 8 ns per element in the recorded steps while others of the same kind
    take less, or all take more than 20 ns; a normal one takes 0.1 to 2 ns. They must take 10 % of the step.
Saving: all but 2 ns per element, 50 to 100 %.
Not for: operators with transcendental functions, strided inputs, tiny tensors, half precision and doubles.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.calls import elements, parsed
from sonde.insights.line_facts import operands
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.rules.kernels.noncontiguous_copies import in_order
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

PLAIN = r"^aten::(add|mul|sub|mul_|add_|sub_|addcmul_|lerp_)$"
FEWEST_ELEMENTS = 65_536
SLOW_NS, SEEN_NS, NORMAL_NS = 8.0, 4.0, 2.0
LEAST_DENORMAL = 0.01  # of a sample
LEAST_SHARE = 0.10


def judge(subject: Subject) -> Iterator[Finding]:
    flushes = subject.need_settings().get("flush_denormal")
    if flushes is None:
        raise NotEnough("whether denormals are flushed was not recorded")
    if flushes:
        return
    calls = subject.calls
    tiny = {
        (one.file, one.line): one
        for one in operands(subject.table("marks"))
        if one.denormal >= LEAST_DENORMAL
    }
    slow = np.zeros(len(calls.ops), np.bool_)
    per_element = np.zeros(len(calls.ops))
    for row in np.flatnonzero(calls.named(PLAIN) & calls.main & (calls.self_ns > 500_000)).tolist():
        shapes, dtypes, strides = calls.shapes(row), calls.dtypes(row), parsed(calls.ops.text("strides")[row])
        count = max((elements(s) for s in shapes), default=0)
        plain = all(d in ("float", "double", "Scalar", "") for d in dtypes) and "float" in dtypes
        ordered = all(in_order(s, t) for s, t in zip(shapes, strides, strict=False) if elements(s) > 1)
        if count >= FEWEST_ELEMENTS and plain and ordered:
            per_element[row] = calls.self_ns[row] / count
            slow[row] = per_element[row] > (SEEN_NS if calls.place(row) in tiny else SLOW_NS)
    places = {calls.place(r) for r in np.flatnonzero(slow).tolist()}
    claim = subject.host_in_op(PLAIN) & subject.host_at({p for p in places if p[1] > 0})
    # By the clock a call may be slow because others had the CPU: its CPU time must be long too.
    cpu_ns = float(subject.host.weight[claim & ~subject.host.waiting].sum()) / subject.steady_steps
    count = sum(max((elements(s) for s in calls.shapes(r)), default=0) for r in np.flatnonzero(slow).tolist())
    share = min(calls.share(slow), subject.share(claim).middle)
    if share < LEAST_SHARE or cpu_ns < (SEEN_NS if tiny.keys() & places else SLOW_NS) * count / calls.steps:
        return
    typical = float(np.median(per_element[slow]))
    row = int(np.flatnonzero(slow)[0])
    file, line = calls.place(row)
    won = 1 - NORMAL_NS / typical
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"Additions and products take {typical:.0f} ns per number: denormals",
            why="Numbers too small to be normal take the processor a hundred cycles each.",
            evidence=(
                Evidence(
                    f"{calls.ops.text('name')[row]} on {calls.shapes(row)[:1]} takes {typical:.0f} "
                    "ns per element; 0.1–2 is normal",
                    "op",
                    calls.ops.text("name")[row] or "",
                    file,
                    line,
                ),
                *(
                    Evidence(
                        f"{one.denormal:.1%} of {one.looked} numbers looked at in {one.name} are denormal",
                        "line",
                        "",
                        one.file,
                        one.line,
                    )
                    for at, one in tiny.items()
                    if at in places
                ),
                Evidence("torch.set_flush_denormal is off"),
            ),
            saving=subject.saving(exact(share, 1.0), 0.5 * won, won),
            confidence="medium",
            fix="torch.set_flush_denormal(True)   # once, at the start",
            experiment=Experiment(
                "flag",
                code="import torch; torch.set_flush_denormal(True)",
                note="numbers below 1.2e-38 become zero",
            ),
        ),
        claim,
    )


RULE = Rule(
    "denormals", 36, "operator calls with shapes", judge, scope="cpu", breadth=0, way="in another format"
)
