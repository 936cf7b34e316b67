"""Rule 49b, zero_grad writes zeros: gradients are overwritten instead of dropped.

Condition: `aten::zero_` or `aten::_foreach_zero_` below zero_grad (torch's GradNotSetToNone pattern) takes
    at least 2 % of the step.
Saving: the writing of zeros, and the reading and adding that AccumulateGrad then needs: up to 250 % of the
    zeroing; nothing at the least, since on a CPU a dropped gradient above malloc's mmap threshold goes back to
    the system and is faulted in again (measured: eight gradients of 1 MB, 12 % slower without the zeros).
Not for: programs that accumulate gradients over several backward passes without zeroing.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.02
WON_LOW, WON_HIGH = 0.0, 2.5


def judge(subject: Subject) -> Iterator[Finding]:
    index = subject.stacks
    under = index.on_stack(index.frames_where(r"(^|\.)zero_grad$", layer="^python$"))
    zeroes = index.on_stack(
        index.frames_where(r"^aten::(_foreach_)?(zero_|fill_)$", layer="^op$"), under=under
    )
    claim = subject.host_mask(zeroes)
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"zero_grad writes zeros into every gradient: {share.middle:.0%} of each step",
            why="A gradient that is None is simply replaced; one full of zeros must be written, read and added to.",
            evidence=(
                Evidence(f"{share.middle:.1%} of the step zeroes gradients", "op", "aten::zero_"),
                *subject.lines(claim, 1),
            ),
            saving=subject.saving(share, WON_LOW, WON_HIGH),
            confidence="medium",
            fix="optimizer.zero_grad(set_to_none=True)   # the default",
            experiment=Experiment(
                "flag",
                code="import torch; _z = torch.optim.Optimizer.zero_grad; "
                "torch.optim.Optimizer.zero_grad = lambda self, set_to_none=True: _z(self, True)",
            ),
        ),
        claim,
    )


RULE = Rule("zero_grad", 49, "samples in steady steps", judge, scope="cpu", breadth=0)
