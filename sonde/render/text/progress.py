"""What Sonde is doing after the program has ended, on one line of a terminal that the summary then takes.

Enters: the name of a stage. Into a pipe or file nothing is written.
"""

from __future__ import annotations

import contextlib
from typing import TextIO

CLEAR = "\r\x1b[K"


class Progress:
    """The line. `done` clears it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None

    def stage(self, what: str) -> None:
        self._write(f"{CLEAR}sonde: {what} …")

    def done(self) -> None:
        self._write(CLEAR)

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with contextlib.suppress(OSError, ValueError):  # the terminal is gone: nobody to tell
                self._stream.write(text)
                self._stream.flush()
