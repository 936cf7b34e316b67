"""What the observers inside the program shall do, as `sonde run` is asked for it.

Read outside alone; the program gets it as JSON in a variable (`sonde.record.outside.environment`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import UsageError

DEFAULT_BUDGET = 0.02


@dataclass(frozen=True)
class ObserveOptions:
    """What the observers inside the program shall do."""

    window: str = "auto"  # auto, all, none or steps=A:B (steps A up to, not including, B)
    budget: float = DEFAULT_BUDGET  # share of the program's CPU time that windows may cost
    lines: bool = True  # trace Python lines and modules inside windows
    primitives: bool = False  # have oneDNN and MKL print their calls, kept apart by native/lines
    shapes: bool = False  # have an observer of operator calls in native torch programs
    source: bool = True  # leave the text of a notebook's cells
    ring_bytes: int = 0  # disk for a process's files when only the last minutes are kept; 0: all is kept
    turns: Path | None = None  # a byte shared with the launcher, which lets two programs take turns


def parse_window(text: str) -> tuple[str, int, int]:
    """Check `--window`: the mode, and first and last+1 step for `steps=A:B`, else -1."""
    if text in ("auto", "all", "none"):
        return text, -1, -1
    found = re.fullmatch(r"steps=(\d+):(\d+)", text)
    if not found or int(found[1]) >= int(found[2]):
        raise UsageError(
            f"--window {text!r} is not understood", "use auto, all, none or steps=A:B with A < B, steps=10:13"
        )
    return "steps", int(found[1]), int(found[2])
