"""What windows learnt of single lines: how often they run in a step, and whether what they make ever changes.

Enters: marks of kind "values" and "loop" (`sonde.record.frameworks.torch.inside.values`, `record.inside.unstepped`).
Leaves: `LineFacts` by (file, line); the outer loop of a program without steps. A line that no window met has no facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde import json_text
from sonde.columns import Table

# Steps with equal values before they count as the same; single numbers, such as a best score, often stay for some.
FEWEST_SEEN, FEWEST_SMALL = 2, 6
FEWEST_RISING = 3


@dataclass(frozen=True)
class LineFacts:
    """Of one line, over all windows. `padded` is -1 where nothing is padded."""

    visits: tuple[int, ...] = ()  # in each step
    seen: int = 0
    distinct: int = 0
    large: bool = False
    text: bool = False
    padded: float = -1.0
    twice: int = 0
    inputs: int = 0  # different inputs of the outermost module called there

    @property
    def per_step(self) -> float:
        """How often the line runs in a step that reaches it."""
        ran = [n for n in self.visits if n]
        return float(np.median(ran)) if ran else 0.0

    @property
    def same(self) -> bool:
        """The line made the same values in every step that was looked at."""
        return self.distinct == 1 and self.seen >= (FEWEST_SEEN if self.large else FEWEST_SMALL)

    @property
    def again(self) -> bool:
        """The line made values that it had made in an earlier step."""
        return self.same or (self.large and 0 < self.distinct < self.seen)

    @property
    def rising(self) -> bool:
        """The line runs more often from step to step: it goes over all that came before."""
        ran = [n for n in self.visits if n]
        return len(ran) >= FEWEST_RISING and ran[0] > FEWEST_RISING and all(np.diff(ran) > 0)


@dataclass(frozen=True)
class Repeat:
    """A module that computes the same again, and the line before which it could do so once."""

    file: str
    line: int
    module: str  # path in its root
    kind: str  # its class
    calls: int
    again: int  # of these: inputs of an earlier call, and its output
    within: bool  # in one call of a module around it


@dataclass(frozen=True)
class Operand:
    """What a sample of the numbers of a large tensor says, that a line names."""

    file: str
    line: int
    name: str
    shape: tuple[int, ...]
    zeros: float  # the least of all windows
    denormal: float  # the most
    looked: int  # numbers in a sample
    same: bool  # two steps of a window had the same


@dataclass(frozen=True)
class Loop:
    """The outer loop of a program without steps."""

    file: str
    line: int
    period_ns: float

    @property
    def label(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


NOTHING_KNOWN = LineFacts()
RAN_ONCE = LineFacts(visits=(1,))


def line_facts(marks: Table) -> dict[tuple[str, int], LineFacts]:
    """Facts by line; of several windows visits are joined, and the last one's count of values stands for all."""
    found: dict[tuple[str, int], LineFacts] = {}
    for file, line, told in _told(marks, "values"):
        if "module" in told or "operand" in told:
            continue  # see `repeats` and `operands`
        known = found.get((file, line), NOTHING_KNOWN)
        visits = told.get("visits")
        new = tuple(int(n) for n in visits if isinstance(n, int)) if isinstance(visits, list) else ()
        padded = told.get("padded")
        found[file, line] = LineFacts(
            (*known.visits, *new),
            max(known.seen, _count(told, "seen")),
            max(known.distinct, _count(told, "distinct")),
            known.large or told.get("large") is True,
            known.text or told.get("text") is True,
            max(known.padded, float(padded) if isinstance(padded, (int, float)) else -1.0),
            known.twice + _count(told, "twice"),
            max(known.inputs, _count(told, "inputs")),
        )
    return found


def repeats(marks: Table) -> list[Repeat]:
    """Modules that windows saw called again with equal inputs and an equal output, of all windows together."""
    found: dict[tuple[str, int, str], Repeat] = {}
    for file, line, told in _told(marks, "values"):
        module, again = told.get("module"), _count(told, "again")
        if isinstance(module, str) and module and again > 0:
            known = found.get((file, line, module))
            calls = max(_count(told, "calls"), again)
            found[file, line, module] = Repeat(
                file,
                line,
                module,
                str(told.get("class") or module),
                calls + (known.calls if known else 0),
                again + (known.again if known else 0),
                told.get("within") is True and (known is None or known.within),
            )
    return list(found.values())


def operands(marks: Table) -> list[Operand]:
    """Large tensors with many zeros or denormal numbers, of all windows together."""
    found: dict[tuple[str, int, str], Operand] = {}
    for file, line, told in _told(marks, "values"):
        name, shape, zeros, denormal = (told.get(k) for k in ("operand", "shape", "zeros", "denormal"))
        if not isinstance(name, str) or not isinstance(shape, list):
            continue
        if not isinstance(zeros, (int, float)) or not isinstance(denormal, (int, float)):
            continue
        known = found.get((file, line, name))
        found[file, line, name] = Operand(
            file,
            line,
            name,
            tuple(n for n in shape if isinstance(n, int)),
            min(zeros, known.zeros) if known else float(zeros),
            max(denormal, known.denormal) if known else float(denormal),
            max(_count(told, "looked"), 1),
            told.get("same") is True or (known is not None and known.same),
        )
    return list(found.values())


def outer_loop(marks: Table) -> Loop | None:
    """The loop that was found last; None where the program has steps, or no loop was met."""
    loops = [
        Loop(file, line, float(told["period_ns"]))
        for file, line, told in _told(marks, "loop")
        if isinstance(told.get("period_ns"), (int, float)) and told["period_ns"] > 0
    ]
    return loops[-1] if loops else None


def _told(marks: Table, kind: str) -> list[tuple[str, int, dict[str, Any]]]:
    rows = marks.take(np.flatnonzero(marks.text("kind").equals(kind)))
    return [
        (file or "", int(line), json_text.object_of(extra))
        for file, line, extra in zip(
            rows.text("name").tolist(),
            rows.array("number").tolist(),
            rows.text("extra").tolist(),
            strict=True,
        )
    ]


def _count(told: dict[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
