"""Rule 49b, zero_grad writes zeros: gradients are overwritten instead of dropped.

Condition: `aten::zero_` or `aten::_foreach_zero_` below zero_grad (torch's GradNotSetToNone pattern) takes
    at least 1 % of the step.
Saving: the writing of zeros, and the reading and adding that AccumulateGrad then needs: up to 250 % of the
    zeroing; nothing at the least, since on a CPU a dropped gradient above malloc's mmap threshold goes back to
    the system and is faulted in again (measured: eight gradients of 1 MB, 12 % slower without the zeros).
Not for: programs that accumulate gradients over several backward passes without zeroing.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Experiment
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.taxed import Tax, taxed

LEAST_SHARE = 0.01  # ours: that zeros are written is certain, only their price is sampled
WON_LOW, WON_HIGH = 0.0, 2.5


def judge(subject: Subject) -> Iterator[Finding]:
    index = subject.stacks
    under = index.on_stack(index.frames_where(r"(^|\.)zero_grad$", layer="^python$"))
    zeroes = index.on_stack(
        index.frames_where(r"^aten::(_foreach_)?(zero_|fill_)$", layer="^op$"), under=under
    )
    tax = Tax(
        rule=RULE.name,
        title="zero_grad writes zeros into every gradient: {share} of each step",
        why="A gradient that is None is simply replaced; one full of zeros must be written, read and added to.",
        seen="{share} of the step zeroes gradients",
        kind="op",
        name="aten::zero_",
        won=(WON_LOW, WON_HIGH),
        fix="optimizer.zero_grad(set_to_none=True)   # the default",
        experiment=Experiment(
            "flag",
            code="import torch; _z = torch.optim.Optimizer.zero_grad; "
            "torch.optim.Optimizer.zero_grad = lambda self, set_to_none=True: _z(self, True)",
        ),
        confidence="medium",
    )
    yield from taxed(subject, subject.host_mask(zeroes), LEAST_SHARE, tax)


RULE = Rule("zero_grad", 49, "samples in steady steps", judge, scope="cpu", breadth=0, way="not at all")
