"""Rule 6 on the host, a constant rebuilt: a tensor is made from Python numbers in every step.

Condition: samples in the conversion of Python lists to tensors outside a DataLoader take at least 2 % of
    the step, and everything below the lines that do so takes at least 5 %.
Saving: everything below those lines (making the list and converting it), 90 to 100 %.
Not for: batches made by a loader (rule 21).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_loader
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_CONVERSION, LEAST_SHARE = 0.02, 0.05
CONVERTS = r"internal_new_from_data|recursive_store|tensor_ctor|legacy_tensor_ctor|THPVariable_tensor"


def judge(subject: Subject) -> Iterator[Finding]:
    index = subject.stacks
    converting = index.on_stack(index.frames_where(CONVERTS, layer="^native$"))
    conversion = subject.host_mask(converting) & ~in_loader(subject)
    if subject.share(conversion).low < LEAST_CONVERSION:
        return
    claim = subject.host_at(subject.places(conversion)) & ~in_loader(subject)
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    lines = subject.lines(conversion, 1)
    place = f"{lines[0].file.rpartition('/')[2]}:{lines[0].line}" if lines else "a line"
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{place} makes a tensor out of Python numbers in every step: {share.middle:.0%} of it",
            why="A list is read one number at a time; a constant needs to be made only once.",
            evidence=(
                Evidence(
                    f"{share.middle:.1%} of the step below lines that call torch.tensor on Python objects"
                ),
                *subject.lines(claim, 2),
            ),
            saving=subject.saving(share, 0.9),
            confidence="high",
            fix='self.register_buffer("mask", make_mask())   # once, in __init__\n'
            "# or build it from tensors: torch.full((n, n), -1e9).triu(1)",
            experiment=Experiment("patch"),
        ),
        claim,
    )


RULE = Rule("constant_rebuilt", 6, "samples in steady steps", judge, scope="cpu", breadth=0, way="once")
