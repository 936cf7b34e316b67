"""raw/PID.functions.tsv → rows of generated code: functions that libraries registered for debuggers.

In: a process's log as read, and its file. Out: the same with those functions; they are known from the end of the run
alone, so they count for all of it. A line that cannot be true is left out.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.columns import Text
from sonde.ingest.agent.log import RawJit, RawLog
from sonde.symbols.elf import demangle

SOURCE = "functions"
MOST_BYTES = 256 << 20
_LINE = re.compile(r"([0-9a-f]{1,16})\t([0-9a-f]{1,8})\t(\S[^\t\n]*)")
_TAG = re.compile(r"\[abi:[^\]]*\]")  # numba's version and hash of a function


def with_functions(log: RawLog, path: Path) -> RawLog:
    """`path` is the log's own file; the functions lie beside it."""
    beside = path.with_name(rawfolder.FUNCTIONS.name(log.header.pid))
    try:
        if beside.is_symlink() or not beside.is_file() or beside.stat().st_size > MOST_BYTES:
            return log
        lines = beside.read_text("utf-8", "replace").splitlines()
    except OSError:
        return log
    rows = [found.groups() for line in lines if (found := _LINE.fullmatch(line))]
    if not rows:
        return log
    names = [_TAG.sub("", demangle(name)) for _, _, name in rows]
    jit = log.jit
    return dataclasses.replace(
        log,
        jit=RawJit(
            np.concatenate([jit.time_ns, np.zeros(len(rows), jit.time_ns.dtype)]),
            np.concatenate([jit.start, np.array([int(r[0], 16) for r in rows], jit.start.dtype)]),
            np.concatenate([jit.size, np.array([int(r[1], 16) for r in rows], jit.size.dtype)]),
            Text.concat([jit.name, Text.of(names)]),
            Text.concat([jit.source, Text.of([SOURCE] * len(rows))]),
        ),
    )
