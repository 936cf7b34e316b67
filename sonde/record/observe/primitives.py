"""Inside a window: have oneDNN and MKL print each call, without spoiling the program's output.

The libraries print to file descriptor 1. For the time of the window that
descriptor leads to a file in raw/; at its end the verbose lines stay there and
everything else, byte for byte and in order, goes where the program wanted it.
So the program's own lines of those few steps appear late, never mixed or lost:
if it dies inside a window, `sonde run` writes what the file holds.

    raw/PID.primitives-N.out   everything that came, while the window is open
    raw/PID.primitives-N.log   the verbose lines, after it
    raw/PID.primitives.jsonl   one line per capture: window, times, clock offsets
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import time
from typing import Any

from sonde.record.observe.session import Session, now_ns

MOST_CAPTURES = 2  # printing costs; a few steady steps tell all
_VARIABLES = ("ONEDNN_VERBOSE", "DNNL_VERBOSE", "MKLDNN_VERBOSE", "MKL_VERBOSE")
_STAMP = "ONEDNN_VERBOSE_TIMESTAMP"
_RECORD = re.compile(
    rb"(?:(?:onednn|dnnl|mkldnn|onednn_graph)_verbose,|MKL_VERBOSE (?:oneMKL|Intel|[A-Za-z_]\w*\())[^\n]*\n"
)
_ON_CREATION = 2


class PrimitiveCapture:
    """The captures of one process; at most one is open."""

    def __init__(self, torch: Any, session: Session) -> None:
        self._torch = torch
        self._session = session
        self._count = 0
        self._saved = -1  # the program's descriptor 1, while a capture is open
        self._base = ""
        self._start: dict[str, int] = {}

    def start(self, window: int) -> None:
        """Begin to capture, unless the program prints those lines itself or it was done often enough."""
        if self._saved >= 0 or self._count >= MOST_CAPTURES or not self._session.options.get("primitives"):
            return
        own = [name for name in _VARIABLES if os.environ.get(name, "0") not in ("0", "none", "")]
        if own:
            self._session.lose(
                "primitives_printed", 1, "windows", f"{own[0]} is set: the program prints them"
            )
            self._count = MOST_CAPTURES
            return
        self._base = os.path.join(self._session.raw, f"{os.getpid()}.primitives-{self._count}")
        try:
            _flush()
            target = os.open(self._base + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            saved = os.dup(1)
            os.set_inheritable(saved, False)
            os.dup2(target, 1)
            os.close(target)
        except OSError as error:
            self._session.lose("primitives_failed", 1, "windows", f"descriptor 1: {error}")
            self._count = MOST_CAPTURES
            return
        self._saved = saved
        # The library reads it at its first verbose line; the program's children need not see it.
        os.environ.setdefault(_STAMP, "1")
        _set_verbose(self._torch, True)
        self._start = {"window": window, "start_ns": now_ns(), "epoch_offset_start_ns": epoch_offset_ns()}

    def stop(self) -> None:
        """End the capture and give the program its descriptor and its output back."""
        if self._saved < 0:
            return
        _set_verbose(self._torch, False)
        os.environ.pop(_STAMP, None)
        line = {**self._start, "end_ns": now_ns(), "epoch_offset_end_ns": epoch_offset_ns()}
        _flush()
        os.dup2(self._saved, 1)
        os.close(self._saved)
        self._saved = -1
        count, self._count = self._count, self._count + 1
        try:
            with open(self._base + ".out", "rb") as file:
                records, rest = split_output(file.read())
            write_all(1, rest)
            with open(self._base + ".log", "wb") as file:
                file.write(records)
            os.unlink(self._base + ".out")
            with open(os.path.join(self._session.raw, f"{os.getpid()}.primitives.jsonl"), "a") as log:
                log.write(json.dumps({"capture": count, **line}) + "\n")
        except OSError as error:
            self._session.lose("primitives_failed", 1, "windows", str(error))
        self._session.mark("window", "primitives", line["start_ns"], line["end_ns"], line["window"])

    def forked(self) -> None:
        """In a forked child: its output must go to the program's descriptor, not to our file."""
        if self._saved >= 0:
            _set_verbose(self._torch, False)
            os.dup2(self._saved, 1)
            os.close(self._saved)
        self._saved, self._count = -1, MOST_CAPTURES


def split_output(data: bytes) -> tuple[bytes, bytes]:
    """The verbose records, and everything else as the program wrote it."""
    return b"".join(_RECORD.findall(data)), _RECORD.sub(b"", data)


def epoch_offset_ns() -> int:
    """The wall clock minus CLOCK_MONOTONIC, from the tightest of a few readings."""
    best = (1 << 62, 0)
    for _ in range(5):
        before = now_ns()
        wall = time.time_ns()
        after = now_ns()
        best = min(best, (after - before, wall - (before + after) // 2))
    return best[1]


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything, however little a pipe takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _flush() -> None:
    """Push out what Python and C hold back, so that it goes where it was meant to."""
    for stream in (sys.stdout, sys.__stdout__):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
    ctypes.CDLL(None).fflush(None)


def _set_verbose(torch: Any, on: bool) -> None:
    """As torch.backends.mkldnn.verbose and torch.backends.mkl.verbose do."""
    for name, level in (("mkldnn_set_verbose", _ON_CREATION), ("mkl_set_verbose", 1)):
        setter = getattr(getattr(torch._C, "_verbose", None), name, None)
        if setter is not None:
            setter(level if on else 0)
