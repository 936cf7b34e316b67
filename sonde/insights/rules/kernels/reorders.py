"""Rule 39, reorders: tensors are converted between layouts around every convolution.

Condition: samples in reorder kernels (oneDNN's reorder primitives, weights included) take at least 15 % of
    the step (catalogue: 10 % of the primitives' time); where a verbose log was recorded its figures are
    shown.
Saving: those reorders and the fresh memory they need, 40 to 220 % of their own time.
Not for: reorders in warm-up and in the backward pass; casts of types; convolutions whose pictures are channels last
    already: what is left then is of weights, and no layout of the input avoids it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.insights.calls import parsed
from sonde.insights.model import Evidence, Experiment, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.taxed import Tax, taxed

LEAST_SHARE = 0.15
WON_LOW, WON_HIGH = 0.4, 2.2
REORDER = r"(?i)reorder"


def judge(subject: Subject) -> Iterator[Finding]:
    index = subject.stacks
    frames = index.frames_where(REORDER, layer="^(native|jit|op)$") & ~index.frames_where(
        r"reorder_cast|Accumulate"
    )
    # Reorders of the backward pass are of gradients and weights: no layout of the input avoids them.
    backward = index.on_stack(index.frames_where(r"^autograd::engine", layer="^op$"))
    claim = subject.host_mask(index.on_stack(frames) & ~backward)
    tax = Tax(
        rule=RULE.name,
        title="Converting between layouts takes {share} of each step",
        why="Fast convolutions want channels last; each operator in another layout pays for two conversions.",
        seen="{share} of the step is in reorders",
        kind="frame",
        name="reorder",
        won=(WON_LOW, WON_HIGH),
        fix="model = model.to(memory_format=torch.channels_last)\nx = x.to(memory_format=torch.channels_last)",
        experiment=Experiment(
            "patch", note="for inference also torch.compile with freezing, which packs weights once"
        ),
    )
    if _channels_last(subject):
        return
    yield from taxed(subject, claim, LEAST_SHARE, tax, _logged(subject))


def _channels_last(subject: Subject) -> bool:
    """Whether the recorded convolutions get pictures with their channels last; False when not recorded."""
    try:
        calls = subject.calls
    except NotEnough:
        return False
    rows = np.flatnonzero(calls.named(r"^aten::conv2d$") & calls.main)
    known = [(calls.shapes(r)[:1], parsed(calls.ops.text("strides")[r])[:1]) for r in rows.tolist()]
    pairs = [(s[0], t[0]) for s, t in known if s and t and len(s[0]) == 4 and len(t[0]) == 4]
    return bool(pairs) and all(t[1] == 1 and s[1] > 1 for s, t in pairs)


def _logged(subject: Subject) -> Iterator[Evidence]:
    table = subject.table("primitives")
    run = table.text("event").equals("exec")
    if not run.any():
        return
    time_ms = np.nan_to_num(table.array("time_ms"))
    reorders = run & table.text("kind").equals("reorder")
    part = float(time_ms[reorders].sum()) / max(float(time_ms[run].sum()), 1e-9)
    yield Evidence(f"{part:.1%} of the time of all logged primitives is reorders", "primitive", "reorder")


RULE = Rule("reorders", 39, "samples in steady steps", judge, scope="cpu", breadth=0, way="in another format")
