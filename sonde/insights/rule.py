"""What a rule is: a name, a number in the catalogue, and a function from a subject to findings.

`judge` yields findings, yields nothing (looked, and all is well), or raises `NotEnough`. A finding may
claim the host samples whose time it would win back: two findings never win the same time twice.
`breadth` orders claims: -1 names a switch or a device, 0 one cause (a loop), 1 a class of causes, 2 only where the
time goes; a broader finding yields to a narrower one on the same samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from sonde.insights.model import Insight

if TYPE_CHECKING:
    from sonde.insights.subject import Subject

LAST_RESORT = 9  # breadth of a rule that speaks only where no other names a line
Scope = Literal["cpu", "gpu", "any"]


@dataclass(frozen=True)
class Finding:
    """An insight, and the host samples (a mask over `subject.host`) whose time it claims."""

    insight: Insight
    claim: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Rule:
    """One file in `rules/`. `needs` says for people what the rule looks at."""

    name: str
    number: int  # in the catalogue of rules, docs/insights.md
    needs: str
    judge: Callable[[Subject], Iterator[Finding]]
    scope: Scope = "any"  # gpu: only where device events were recorded; cpu: only where there are none
    breadth: int = 1
    way: str = ""  # name of the `Way` (ways.py) that its fix goes; "": the finding says
    trial: bool = (
        False  # whether the fix wins depends on hardware or library: it may be slower, a trial must tell
    )
