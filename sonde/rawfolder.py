"""The name of every file in raw/, for those that write it and those that read it.

Imported inside the program, so: standard library only, and no work at import.
A recording that keeps only the last minutes (`sonde watch`) has files that turn: see `parts`.
In a pattern, PID stands for the process and N for a number; what C++ writes is named in the file given behind it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

FOLDER = "raw"
ENDED = "ended.tsv"  # how each process ended: native/agent/process/ended.cpp
UNFOLLOWED = "unfollowed.tsv"  # processes that have no log, and why: native/agent/process/follow.cpp
SHAPES_OF_JOB = "shapes.txt"  # why no process of the job has shapes
SETTINGS_OF_JOB = "settings.json"  # what the machine offers, for programs that cannot be asked
UNNAMED_SCRIPT = "script.json"  # name and text of a program that is no file: `python -c`, `python < FILE`
_OPTIONAL_NUMBER = "[-N]"
RING_PARTS = 8  # and the one being written: native/agent/core/options.h


class File(NamedTuple):
    """A file that was found. `number` is 0 where its name has none."""

    pid: int
    number: int
    path: Path


class Kind:
    """Files of one kind that processes leave, by the pattern of their names."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def name(self, pid: int, number: int = 0) -> str:
        text = self.pattern.replace(_OPTIONAL_NUMBER, f"-{number}" if number else "")
        return text.replace("PID", str(pid)).replace("N", str(number))

    def path(self, raw: str, pid: int, number: int = 0) -> str:
        return os.path.join(raw, self.name(pid, number))

    def find(self, raw: Path) -> list[File]:
        """All of this kind in `raw`, in the order of their names; whatever is called otherwise is left alone."""
        import re  # not needed inside the program

        shape = re.escape(self.pattern).replace(re.escape(_OPTIONAL_NUMBER), r"(?:-(?P<number>\d{1,18}))?")
        shape = shape.replace("PID", r"(?P<pid>\d{1,18})").replace("N", r"(?P<number>\d{1,20})")
        found = ((re.fullmatch(shape, path.name, re.ASCII), path) for path in sorted(raw.iterdir()))
        return [File(int(m["pid"]), int(m.groupdict().get("number") or 0), path) for m, path in found if m]


def parts(path: Path) -> list[Path]:
    """A file of a ring: FILE.1, FILE.2 … by number, as far as they are kept, then FILE itself if it is there."""
    numbered = []
    for name in os.listdir(path.parent):
        head, dot, tail = name.rpartition(".")
        if dot and head == path.name and tail.isascii() and tail.isdigit():
            numbered.append((int(tail), path.with_name(name)))
    return [*(found for _, found in sorted(numbered)), *([path] if path.exists() else [])]


def turn(path: str, first_stays: bool) -> None:
    """FILE is full: it becomes FILE.NUMBER, and the oldest are removed. OSError: it is FILE still.

    Numbers are times: a process keeps its files over an exec.
    """
    os.rename(path, f"{path}.{time.monotonic_ns() // 1_000_000}")
    for old in parts(Path(path))[int(first_stays) : -RING_PARTS]:
        os.unlink(old)


# Every process
LOG = Kind("PID.N.slog")  # samples; N is the start of the process: native/agent/background/recorder.cpp
MARKS = Kind("PID.marks[-N].jsonl")
EVENTS = Kind("PID.events[-N].bin")
TROUBLE = Kind("PID.trouble.txt")  # what the bootstrap could not do
FUNCTIONS = Kind("PID.functions.tsv")  # generated functions: sonde/record/inside/jit_list.py
CELLS = Kind("PID.cells.json")  # text of a notebook's cells: sonde/record/inside/cells.py
PRIMITIVES = Kind("PID.primitives.log")  # lines of oneDNN and MKL: native/lines/lines.cpp

# C++ programs: native/agent/steps
NATIVE_EVENTS = Kind("PID.native.bin")
PLACES = Kind("PID.places.tsv")  # Python code that asked for collectives: native/agent/steps/asked_from.h
NATIVE_SETTINGS = Kind("PID.native.json")
REGION_NAMES = Kind("PID.names.tsv")

# torch
MODULES = Kind("PID.modules.jsonl")
WINDOWS = Kind("PID.windows.jsonl")
WINDOW_TRACE = Kind("PID.window-N.json")
WINDOW_LINES = Kind("PID.window-N.lines.bin")
WINDOW_CODE = Kind("PID.window-N.lines.json")  # the code objects that WINDOW_LINES has by number
OWN_TRACES = Kind("PID.own-traces.jsonl")
OWN_TRACE = Kind("PID.own-N.json")
OWN_TRACE_PACKED = Kind("PID.own-N.json.gz")

# torch in C++ programs: sonde/record/frameworks/torch_native/calls.cpp
NATIVE_CALLS = Kind("PID.calls.bin")
NATIVE_SIGNATURES = Kind("PID.calls.jsonl")
SHAPES_NOTE = Kind("PID.shapes.txt")  # why this process has no shapes: native/observer/enter.cpp

# MXNet
MXNET_TRACE = Kind("PID.mxnet.json")
