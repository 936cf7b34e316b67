"""What an insight is: a finding with evidence, a saving with an interval, a fix, and the experiment that proves it.

A rule (one file in `rules/`) looks at a recording and yields insights, or raises `NotEnough`
when the recording cannot tell. "Not enough to judge" and "nothing found" are different answers.
The numbers of a saving are times of one steady step of the whole program, never of one thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Confidence = Literal["high", "medium", "low"]
# The chain of work that a saving shortens. A step lasts as long as its longest chain, so savings
# on two chains do not add; `once` is paid per run, not per step.
Resource = Literal["host", "device", "communication", "input", "once"]
EvidenceKind = Literal["op", "line", "module", "frame", "kernel", "thread", "mark", "primitive", "fact"]


class NotEnough(Exception):
    """The recording lacks what a rule needs; the message says what, and how to record it."""


@dataclass(frozen=True)
class Evidence:
    """One observation, and where in the recording it is to be seen."""

    text: str  # one sentence with its numbers and their units
    kind: EvidenceKind = "fact"
    name: str = ""  # operator, module path, frame, kernel, … as the tables name it
    file: str = ""
    line: int = -1


@dataclass(frozen=True)
class Saving:
    """How much shorter a steady step (for `once`: the run) would be; `low_ms` below 0: it may be slower."""

    low_ms: float
    high_ms: float
    of_ms: float  # the step (or run) that the saving is taken from

    @property
    def low_share(self) -> float:
        """The lower end as a share of the step; below 0 it may be slower."""
        return self.low_ms / self.of_ms if self.of_ms > 0 else 0.0

    @property
    def share(self) -> float:
        """Middle of the interval as a share of the step."""
        return 0.5 * (self.low_ms + self.high_ms) / self.of_ms if self.of_ms > 0 else 0.0


@dataclass(frozen=True)
class Experiment:
    """How to try the fix without editing the program, as far as that is possible.

    environment  variables for a fresh process; None removes one
    flag         Python statements that run before the program, once torch is imported
    arguments    keyword arguments given to a constructor: `target` is its dotted name
    patch        only the user can: `sonde prove --before CMD --after CMD`
    replay       the operator alone, with the recorded shapes
    """

    kind: Literal["environment", "flag", "arguments", "patch", "replay"]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    code: str = ""
    target: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # what to know before believing the outcome: accuracy, memory, …


@dataclass(frozen=True)
class Insight:
    """One finding. `fix` is code or shell lines to copy; `why` is one sentence for a beginner."""

    rule: str
    title: str
    why: str
    evidence: tuple[Evidence, ...]
    saving: Saving | None  # None: worth changing, but the saving is only known after a trial
    confidence: Confidence
    fix: str
    experiment: Experiment
    resource: Resource = "host"
    way: str = ""  # how the time is won: once, less often, in bulk, …; the engine fills in the rule's
    work: str = ""  # kind of work with most of the claimed time, as in the account
    file: str = ""  # the user's line with most of it
    line: int = -1
    pointer: bool = False  # names the first place to look, and claims nothing
