"""What is compared: a command with an environment, and what one launch of it measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Patch:
    """Keyword arguments given to every call of a constructor, by its dotted name."""

    target: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Arm:
    """One side of a comparison. `name` is for people and for the journal."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)  # added to the surrounding one
    prefix: tuple[str, ...] = ()  # taskset, numactl, … in front of the command
    unset: tuple[str, ...] = ()  # variables taken away
    code: str = ""  # Python statements that run once torch is imported, before the program goes on
    patches: tuple[Patch, ...] = ()
    flip: Mapping[str, Any] = field(default_factory=dict)  # a plan of flips; see `flips.py`
    instances: int = 1  # copies that run at the same time; the value is then time per step of all together
    directory: Path | None = None  # where it runs; None: where the experiment does
    revision: str = ""  # of the files in `directory`, whose path differs from run to run

    def words(self) -> list[str]:
        return [*self.prefix, *self.command]

    @property
    def inside(self) -> dict[str, Any]:
        """What the program's own process is to do; empty when nothing."""
        if not self.code and not self.patches and not self.flip:
            return {}
        patches = [{"target": p.target, "arguments": dict(p.arguments)} for p in self.patches]
        return {"code": self.code, "patches": patches, "flip": dict(self.flip)}

    @property
    def key(self) -> str:
        """The same for equal arms only, whatever they are called."""
        facts = [self.words(), self.environment, self.unset, self.inside, self.instances, self.revision]
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Measurement:
    """One launch. `value_ms` is the median steady step, or the wall time where there are no steps."""

    value_ms: float
    steps: int  # steady steps behind the value; 0 when it is the wall time
    exit_code: int
    result: str  # what the program printed, reduced to what must not change
    disturbed: str = ""  # a rule fixed beforehand was broken: throttled, steal; empty when not
    loads: bool = False  # the program drew batches from a DataLoader
    seconds: float = 0.0  # the whole launch
    applied: int = -1  # how often the arm's patches took effect; -1 when it has none
    threads: int = -1  # that torch computed with; -1: not known
    in_turns: bool = False  # both programs of the pair were alive and took turns


Pair = tuple[Measurement, Measurement]


class Measure(Protocol):
    """Launches an arm once. `padding` varies the environment's size, so that no alignment is special."""

    def __call__(self, arm: Arm, padding: int) -> Measurement: ...


@runtime_checkable
class TakesTurns(Protocol):
    """A measure that may also launch both arms of a pair at once, or say that it cannot (None)."""

    def together(self, first: Arm, second: Arm, paddings: tuple[int, int]) -> Pair | None: ...
