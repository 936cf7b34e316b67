"""A problem of a machine, and what a check that finds one looks like.

A check that would need an unknown fact stays silent. `error` makes programs
slow or wrong for certain, `warning` probably, `info` is for measuring well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sonde.machine.facts import Facts


@dataclass(frozen=True)
class Problem:
    severity: str  # error, warning or info
    what: str
    why: str
    fix: str


Check = Callable[[Facts], Iterator[Problem]]
