"""What Sonde must be told of a framework, and what it is told in turn.

A framework is one folder beside this file and one line in `known.py`:
    framework.py   the record `FRAMEWORK` below: how it is noticed, which files it leaves in raw/, how they are read
    inside         what observes it in the program: standard library only, plus the framework itself
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sonde.columns import Table
from sonde.ingest.observers.roster import Roster
from sonde.link.numbering import Numbering, renumbered
from sonde.rawfolder import Kind
from sonde.record.inside.options import ObserveOptions
from sonde.store.losses import Loss


@dataclass(frozen=True)
class Launch:
    """A program that is about to be started: what a framework may add variables for."""

    command: list[str]
    folder: Path
    options: ObserveOptions
    environment: Mapping[str, str]  # as it is without this framework


@dataclass
class Reading:
    """What the readers of one raw folder share, and where they put what they could not read."""

    raw: Path
    roster: Roster
    epoch_offset_ns: Mapping[int, int]  # pid → wall clock − ours, where the process said it
    numbering: Numbering = field(default_factory=Numbering)
    losses: list[Loss] = field(default_factory=list)

    def lose(self, process: int, cause: str, count: int, unit: str, detail: str) -> None:
        self.losses.append(Loss(process, cause, count, unit, detail))

    def numbered(self, tables: Mapping[str, Table], process: int) -> dict[str, Table]:
        """The tables of one source of `process` with the recording's identities."""
        return renumbered(
            tables, process, lambda tid, name: self.roster.thread(process, tid, name), self.numbering
        )


@dataclass(frozen=True)
class SourceTables:
    """The tables of one source (a window, a trace, a log), and how far its times may be off."""

    tables: dict[str, Table]
    uncertainty_ns: int
    clock_drift: float = 0.0  # the profiler's clock against ours, a share; corrected where it is not 0
    details: dict[str, Any] = field(default_factory=dict)


def nothing_to_add(launch: Launch) -> dict[str, str]:
    """For a framework that needs no variables of its own."""
    return {}


@dataclass(frozen=True)
class Framework:
    """One framework. `name` is what people call it."""

    name: str
    files: tuple[Kind, ...]  # that it leaves in raw/
    read: Callable[[Reading], list[SourceTables]]
    # Module whose import gives the framework away → "package:function" to call with it, inside the program.
    noticed_by: Mapping[str, str] = field(default_factory=dict)
    environment: Callable[[Launch], dict[str, str]] = nothing_to_add
    library: str = ""  # a process that has loaded it uses the framework; "": another one's library tells
