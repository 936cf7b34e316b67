"""Names of nn.Modules by address: records of the log, and the side file raw/PID.modules.jsonl.

A line of the file: {"time_ns", "pointer", "path", "class"}; the model itself has an empty path
and is called by its class. Damaged lines are skipped: a module without a name is no error.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from sonde.columns import Text
from sonde.ingest.agent.log import RawLog, RawModules


def read_module_names(path: Path) -> RawModules:
    """The file's names in the order of the file; none when it is missing."""
    times: list[int] = []
    pointers: list[int] = []
    paths: list[str] = []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        try:
            row = json.loads(line)
            time_ns, pointer = int(row["time_ns"]), int(row["pointer"])
            name = str(row.get("path") or row.get("class") or "")
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if name and 0 <= pointer < 1 << 64:
            times.append(time_ns)
            pointers.append(pointer)
            paths.append(name)
    return RawModules(np.array(times, np.int64), np.array(pointers, np.uint64), Text.of(paths))


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
