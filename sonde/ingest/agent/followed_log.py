"""A raw log that still grows, piece by piece.

Enters: its path. Leaves, poll by poll, a `RawLog` of what came since, by the code that reads finished ones.
"""

from __future__ import annotations

import os
from pathlib import Path

from sonde.errors import InputError
from sonde.ingest.agent import log as raw
from sonde.ingest.agent.decode import HEADER, MOST_BYTES_AT_ONCE, convert
from sonde.ingest.agent.native_log import Decoded, library
from sonde.ingest.turning_file import TurningFile


class FollowedLog:
    """A log that still grows. Each `poll` gives what came since: its events, and everything that they refer to.

    What is not whole yet at the end of the file is read the next time. A chunk that is damaged ends it. In a ring each
    file says everything anew, so that what is kept here is never more than of one file: `files` counts them, and
    threads and stacks are numbered anew with each.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = 0
        self._library = library()
        self._file = TurningFile(path)
        self._file.open()
        self._handle = 0
        self._begin()

    def _begin(self) -> None:
        if self._handle:
            self._library.sonde_rawlog_free(self._handle)
        self._handle = self._library.sonde_rawlog_follow()
        if not self._handle:
            raise MemoryError
        self._decoded = Decoded(self._library, self._handle)
        self.files += 1

    def poll(self) -> raw.RawLog | None:
        """None when nothing has come, or the header is not there yet."""
        more = self._library.sonde_rawlog_more
        got = more(self._handle, self._file.fd, MOST_BYTES_AT_ONCE)
        if not got and self._file.turn():
            self._begin()
            got = more(self._handle, self._file.fd, MOST_BYTES_AT_ONCE)
        if got < 0:
            raise InputError(f"{self.path} cannot be read: {os.strerror(-got)}")
        if not got:
            return None
        self._decoded.read_strings()
        if not self._library.sonde_rawlog_rows(self._handle, HEADER):
            return None
        log = convert(self.path, self._decoded)
        self._library.sonde_rawlog_forget_events(self._handle)
        return log

    def close(self) -> None:
        if self._handle:
            self._library.sonde_rawlog_free(self._handle)
            self._handle = 0
            self._file.close()
