"""A finding about a machine, and what a rule that makes one looks like.

A rule that would need an unknown fact stays silent. `error` makes programs
slow or wrong for certain, `warning` probably, `info` is for measuring well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sonde.machine.facts import Facts


@dataclass(frozen=True)
class Finding:
    severity: str  # error, warning or info
    what: str
    why: str
    fix: str


Rule = Callable[[Facts], Iterator[Finding]]
