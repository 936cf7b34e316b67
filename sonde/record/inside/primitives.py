"""Inside a window: have oneDNN and MKL print each call, without spoiling the program's output.

native/lines is preloaded with `--primitives`: while it is switched on, the lines go
to raw/PID.primitives.log with the time and the thread of each, and the program's own
output stays as it is. torch is switched on for the time of a window. MXNet reads
its switch once, so a program that uses MXNet prints from its import to its end.

    raw/PID.primitives.log   "NS TID line", for every process that printed any
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from sonde.record.inside.session import Session, now_ns

MOST_CAPTURES = 2  # printing costs; a few steady steps tell all
VARIABLES = ("ONEDNN_VERBOSE", "DNNL_VERBOSE", "MKLDNN_VERBOSE", "MKL_VERBOSE")


class PrimitiveCapture:
    """The captures of one process; at most one is open."""

    def __init__(self, session: Session, set_verbose: Callable[[bool], None] = lambda on: None) -> None:
        self._session = session
        self._set_verbose = set_verbose  # have the framework's oneDNN and MKL print, or not
        self._count = 0
        self._open = False
        self._start_ns = self._window = 0

    def start(self, window: int) -> None:
        """Begin to capture, unless the program prints those lines itself or it was done often enough."""
        if self._open or self._count >= MOST_CAPTURES or not begin(self._session):
            return
        self._open = True
        self._set_verbose(True)
        self._window, self._start_ns = window, now_ns()

    def stop(self) -> None:
        """End the capture."""
        if not self._open:
            return
        self._open = False
        self._set_verbose(False)
        end_ns = now_ns()
        _library().sonde_lines_stop()
        self._count += 1
        self._session.mark("window", "primitives", self._start_ns, end_ns, self._window)

    def forked(self) -> None:
        """In a forked child: it is not in the window."""
        if self._open:
            self._set_verbose(False)
            _library().sonde_lines_stop()
        self._open, self._count = False, MOST_CAPTURES


def begin(session: Session) -> bool:
    """Take verbose lines from now on; False when nobody asked or it cannot be, with the reason as a loss."""
    if not session.options.get("primitives"):
        return False
    own = [name for name in VARIABLES if os.environ.get(name, "0") not in ("0", "none", "")]
    if own:
        session.options["primitives"] = False
        session.lose("primitives_printed", 1, "windows", f"{own[0]} is set: the program prints them")
        return False
    try:
        failed = _library().sonde_lines_start()
    except (AttributeError, OSError) as error:
        failed = str(error)
    if failed:
        session.options["primitives"] = False
        session.lose("primitives_failed", 1, "windows", f"lines cannot be kept apart: {failed}")
    return not failed


def _library() -> ctypes.CDLL:
    """native/lines is in the process already: it was preloaded."""
    return ctypes.CDLL(None)
