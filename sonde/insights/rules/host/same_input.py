"""Same input: a model, or a module in it, is called again with the very same input.

Condition: a window saw an outermost module called again, in one step, with values that it had been called with; the
    samples below the later line are at least 5 % of the step. Or it saw a module of any depth called again with the
    inputs of an earlier call, and give the same output: in one call of a model (at every time step of a recurrence), or
    while the inputs of the model around it, or of another one, changed (each token, each denoising iteration).
Saving: the later call, where the first one's output can be used: most of it. Of a module inside, the part of its calls
    that were equal, with its backward pass at most.
Not for: recomputation in the backward pass, which saves memory on purpose; steps with several optimizers (a GAN), whose
    later call is of a model that has changed, and trains another one; random layers, whose output differs; a program
    that runs all of its model again and again on one input, to measure it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.line_facts import Repeat, repeats
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.roles import roles
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import Share
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05
WON_LOW = 0.8
SURE = 3  # equal calls
SEVERAL = 1.5  # optimizer steps in a step


def judge(subject: Subject) -> Iterator[Finding]:
    yield from _inside(subject)
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


def _inside(subject: Subject) -> Iterator[Finding]:
    """Modules that give the same output again, one card per line from which they could be called once."""
    lines: dict[tuple[str, int], list[Repeat]] = {}
    for one in repeats(subject.table("marks")):
        lines.setdefault((one.file, one.line), []).append(one)
    part = roles(subject)
    for at, modules in lines.items():
        below = subject.host_at([at]) & ~part.of("backward", "optimizer")
        spent = [
            (below & subject.host_with(f"^{re.escape(one.module)}$", layer="^module$"), one)
            for one in modules
        ]
        weights = [float(subject.host.weight[claim].sum()) for claim, _ in spent]
        if not sum(weights):
            continue
        main = modules[int(np.argmax(weights))]
        claim = np.logical_or.reduce([claim for claim, _ in spent])
        share = subject.share(claim)
        if share.low < LEAST_SHARE:
            continue
        equal = main.again / main.calls
        own = np.where(subject.host.pool, 0.0, subject.host.weight)
        forward, back = (float(own[part.of(phase)].sum()) for phase in ("forward", "backward"))
        back = back if main.within else 0.0
        # A window begins with a call that it cannot know to be equal; inside one call all are seen.
        most = share.high * (equal if main.within else 1.0) * (1 + back / max(forward, 1.0))
        saved = Share(share.middle * equal, share.low * equal, min(most, 1.0), share.looks)
        yield Finding(_card(subject, main, len(modules), share, saved, claim), claim)


def _card(subject: Subject, one: Repeat, modules: int, share: Share, saved: Share, claim: Mask) -> Insight:
    place = f"{one.file.rpartition('/')[2]}:{one.line}"
    name = one.kind if one.module in ("", one.kind) else f"{one.module} ({one.kind})"
    others = f", and {modules - 1} more modules called there likewise" if modules > 1 else ""
    where = "within one call of the model" if one.within else "while other inputs of the program changed"
    if ".parametrizations." in f".{one.module}.":
        fix = f"with torch.nn.utils.parametrize.cached():   # {place}: around all calls of one forward pass\n    ..."
    else:
        fix = f"# {place}: call {one.module} once for each new input, keep its output and pass that on"
    return Insight(
        rule=RULE.name,
        title=f"{place}: {name} computes the same again: {share.middle:.0%} of each step",
        why="Its inputs and its output were equal to those of an earlier call: what that one made can be used again.",
        evidence=(
            Evidence(
                f"{one.again} of {one.calls} calls of {name} in windows had the inputs of an earlier one and gave "
                f"the same output, {where}{others}",
                "line", "", one.file, one.line,
            ),
            *subject.lines(claim, 2),
        ),
        saving=subject.saving(saved, WON_LOW),
        confidence="high" if one.again >= SURE else "medium",
        fix=fix,
        experiment=Experiment("patch", note="compare the results of both versions"),
        file=one.file,
        line=one.line,
    )  # fmt: skip


RULE = Rule(
    "same_input", 63, "inputs of modules in windows, samples", judge, scope="cpu", breadth=-1, way="once"
)
