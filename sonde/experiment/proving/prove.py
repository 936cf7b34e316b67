"""Turn an insight into two arms, run them, and set the measured saving against the predicted one.

In: an insight (or the user's own before and after commands) and the command. Out: `Proof`. The arms
differ in nothing but the experiment: variables, a switch set before the program goes on, or arguments of a
constructor. A switch that can flip while the program runs is measured in blocks of steps of one process.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sonde.errors import UsageError
from sonde.experiment.design.arm import Arm, Measure, Patch
from sonde.experiment.measure.flips import FlipMeasure
from sonde.experiment.measure.paired import Paired
from sonde.experiment.proving.proof import Proof, predicted_of, proof_of
from sonde.insights.model import Experiment, Insight

# Switches that take effect at once and can be taken back: (pattern of the code, statement that takes it back).
_FLIPPABLE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"torch\.set_flush_denormal\(True\)"), "torch.set_flush_denormal(False)"),
    (re.compile(r"torch\.set_flush_denormal\(False\)"), "torch.set_flush_denormal(True)"),
    (re.compile(r"torch\.backends\.mkldnn\.enabled = True"), "torch.backends.mkldnn.enabled = False"),
    (re.compile(r"torch\.backends\.mkldnn\.enabled = False"), "torch.backends.mkldnn.enabled = True"),
    (re.compile(r"torch\.autograd\.set_detect_anomaly\(False\)"), "torch.autograd.set_detect_anomaly(True)"),
)


def arms_of(experiment: Experiment, command: tuple[str, ...]) -> tuple[Arm, Arm]:
    """(as is, with the fix). A patch is the user's to make."""
    before = Arm("as is", command)
    if experiment.kind == "environment":
        given = {k: v for k, v in experiment.environment.items() if v is not None}
        gone = tuple(k for k, v in experiment.environment.items() if v is None)
        if not given and not gone:
            raise UsageError(
                "this insight's experiment names no variable", "prove it with --before and --after"
            )
        return before, replace(before, name="with the fix", environment=given, unset=gone)
    if experiment.kind == "flag" and experiment.code:
        return before, replace(before, name="with the fix", code=experiment.code)
    if experiment.kind == "arguments" and experiment.target:
        patch = Patch(experiment.target, dict(experiment.arguments))
        return before, replace(before, name="with the fix", patches=(patch,))
    how = "only you can change the program" if experiment.kind == "patch" else "it is replayed by itself"
    raise UsageError(
        f"this fix is of kind {experiment.kind!r}: {how}",
        "make the change in a copy, then: sonde prove REC RULE --before 'CMD' --after 'CMD'",
    )


def taken_back(code: str) -> str | None:
    """The statement that undoes a switch while the program runs; None when it cannot flip."""
    for pattern, undo in _FLIPPABLE:
        if pattern.fullmatch(code.strip()):
            return undo
    return None


def prove(before: Arm, after: Arm, engine: Paired, insight: Insight | None, rule: str = "") -> Proof:
    """A/A first, then before against after."""
    floor = engine.noise_floor(before)
    found = engine.compare(before, after, floor)
    how = "launches in turns" if found.in_turns else "launches"
    if isinstance(engine.measure, FlipMeasure):
        how = "blocks of steps in one process"
    return proof_of(
        rule or (insight.rule if insight else "own change"), predicted_of(insight), found, floor, how
    )


def flip_measure(before: Arm, after: Arm, block: int, seed: int) -> Measure | None:
    """The measure by flips inside one process, where the switch allows it."""
    undo = taken_back(after.code) if after.code else None
    alike = (before.patches, before.environment, before.unset) == (
        after.patches,
        after.environment,
        after.unset,
    )
    if undo is None or not alike:
        return None
    return FlipMeasure(replace(before, code=undo), after, block, seed)
