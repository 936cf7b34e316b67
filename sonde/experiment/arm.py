"""What is compared: a command with an environment, and what one launch of it measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Arm:
    """One side of a comparison. `name` is for people and for the journal."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)  # added to the surrounding one
    prefix: tuple[str, ...] = ()  # taskset, numactl, … in front of the command

    def words(self) -> list[str]:
        return [*self.prefix, *self.command]


@dataclass(frozen=True)
class Measurement:
    """One launch. `value_ms` is the median steady step, or the wall time where there are no steps."""

    value_ms: float
    steps: int  # steady steps behind the value; 0 when it is the wall time
    exit_code: int
    result: str  # what the program printed, reduced to what must not change
    disturbed: str = ""  # a rule fixed beforehand was broken: throttled, steal; empty when not


class Measure(Protocol):
    """Launches an arm once. `padding` varies the environment's size, so that no alignment is special."""

    def __call__(self, arm: Arm, padding: int) -> Measurement: ...
