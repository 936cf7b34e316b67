"""Rule 6 on the host, a constant rebuilt: a tensor is made from Python numbers in every step.

Condition: samples in the conversion of Python lists to tensors outside a DataLoader take at least 2 % of
    the step, and everything below the lines that do so takes at least 5 %.
Saving: everything below those lines (making the list and converting it), 90 to 100 %; half of it at least where
    windows saw other numbers in every step: those are no constant, and need another form, or to be made beforehand.
Not for: batches made by a loader (rule 21).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_loader
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.ways import ELSEWHERE, OTHER_FORMAT, Way

LEAST_CONVERSION, LEAST_SHARE = 0.02, 0.05
FEWEST_SEEN = 3  # steps of windows
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
    way = _of_changing(subject, lines)
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{place} makes a tensor out of Python numbers in every step: {share.middle:.0%} of it",
            why="A list is read one number at a time; "
            + ("its numbers are others in every step." if way else "a constant needs to be made only once."),
            evidence=(
                Evidence(
                    f"{share.middle:.1%} of the step below lines that call torch.tensor on Python objects"
                ),
                *subject.lines(claim, 2),
            ),
            saving=subject.saving(share, 0.5 if way else 0.9),
            confidence="high",
            fix=way.fix.format(place=place)
            if way
            else 'self.register_buffer("mask", make_mask())   # once, in __init__\n'
            "# or build it from tensors: torch.full((n, n), -1e9).triu(1)",
            experiment=Experiment("patch"),
            way=way.name if way else "",
        ),
        claim,
    )


def _of_changing(subject: Subject, lines: list[Evidence]) -> Way | None:
    """The way where the heaviest line was seen to make something else in every step."""
    facts = subject.facts_of(lines[0].file, lines[0].line) if lines else None
    if facts is None or not facts.large or facts.seen < FEWEST_SEEN or facts.distinct < facts.seen:
        return None
    return ELSEWHERE if facts.text else OTHER_FORMAT


RULE = Rule("constant_rebuilt", 6, "samples in steady steps", judge, scope="cpu", breadth=0, way="once")
