"""Names of nn.Modules by address: records of the log, and the side file raw/PID.modules.jsonl.

A line of the file: {"time_ns", "pointer", "path", "class", "root"}; the model itself has an empty path
and is called by its class. Damaged lines are skipped: a module without a name is no error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sonde.columns import Text
from sonde.ingest.agent.log import RawLog, RawModules
from sonde.record.inside.log import read_lines


class ModuleName(NamedTuple):
    """From `time_ns` on the module at `pointer` is called `name` under the module at `root`."""

    time_ns: int
    pointer: int
    name: str
    root: int


def module_names(path: Path) -> list[ModuleName]:
    """The lines of the file, in their order; none when it is missing."""
    found = []
    try:
        lines = read_lines(str(path))
    except OSError:
        return []
    for line in lines:
        try:
            row = json.loads(line)
            time_ns, pointer = int(row["time_ns"]), int(row["pointer"])
            name, root = str(row.get("path") or row.get("class") or ""), int(row.get("root", pointer))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            continue
        if name and 0 <= pointer < 1 << 64 and abs(time_ns) < 1 << 63:
            found.append(ModuleName(time_ns, pointer, name, root))
    return found


def raw_modules(names: Sequence[ModuleName]) -> RawModules:
    """As columns, for the stacks of a log."""
    return RawModules(
        np.array([one.time_ns for one in names], np.int64),
        np.array([one.pointer for one in names], np.uint64),
        Text.of([one.name for one in names]),
    )


def with_modules(log: RawLog, more: RawModules | None) -> RawLog:
    """The log with further names, in order of time."""
    if more is None or not len(more.time_ns):
        return log
    own = log.modules
    time_ns = np.concatenate([own.time_ns, more.time_ns])
    order = time_ns.argsort(kind="stable")
    pointer = np.concatenate([own.pointer, more.pointer])
    path = Text.concat([own.path, more.path])
    return replace(log, modules=RawModules(time_ns[order], pointer[order], path.take(order)))
