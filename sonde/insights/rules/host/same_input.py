"""Same input: a model is called twice in a step with the very same input.

Condition: a window saw an outermost module called again, in one step, with values that it had been called with; the
    samples below the later line are at least 5 % of the step.
Saving: the later call, where the first one's output can be used: most of it.
Not for: recomputation in the backward pass, which saves memory on purpose; steps with several optimizers (a GAN), whose
    later call is of a model that has changed, and trains another one.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.roles import roles
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05
WON_LOW = 0.8
SEVERAL = 1.5  # optimizer steps in a step


def judge(subject: Subject) -> Iterator[Finding]:
    if len(subject.steady_marks("phase", "optimizer")) > SEVERAL * subject.steady_steps:
        return
    part = roles(subject)
    found = []
    for at, facts in subject.line_facts.items():
        claim = subject.host_at([at]) & ~part.of("backward", "optimizer")
        if facts.twice and claim.any():
            after = float(subject.host.weight[claim & part.of("after")].sum())
            found.append((after, at[1], at[0], claim))
    # Both calls are known: the later one of the step is the one too many.
    for _, line, file, claim in sorted(found, key=lambda one: one[:2])[-1:]:
        share = subject.share(claim)
        if share.low < LEAST_SHARE:
            continue
        place = f"{file.rpartition('/')[2]}:{line}"
        yield Finding(
            Insight(
                rule=RULE.name,
                title=f"{place} runs a model again on the same input: {share.middle:.0%} of each step",
                why="The first call of the step has computed it already.",
                evidence=(
                    Evidence(
                        "a window saw the same module called twice in one step with equal inputs",
                        "line", "", file, line,
                    ),
                    *subject.lines(claim, 2),
                ),
                saving=subject.saving(share, WON_LOW),
                confidence="high",
                fix=f"# {place}: use the output of the first call\n"
                "predicted = logits.detach().argmax(1)   # instead of model(x).argmax(1)",
                experiment=Experiment("patch", note="weights that changed in between give other values"),
                file=file,
                line=line,
            ),
            claim,
        )  # fmt: skip


RULE = Rule(
    "same_input", 63, "inputs of modules in windows, samples", judge, scope="cpu", breadth=-1, way="once"
)
