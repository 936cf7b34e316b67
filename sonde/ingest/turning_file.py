"""A file of raw/ that grows while it is read and, in a ring, goes on in another one of the same name.

Enters: its usual path (`sonde.rawfolder.parts`). Leaves: a descriptor of the file that is read now.
"""

from __future__ import annotations

import os
from pathlib import Path

from sonde import rawfolder

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW


class TurningFile:
    """Call `turn` when the file has no more: it may have become an older part."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = -1

    def open(self) -> None:
        """The newest file. OSError: it is not there."""
        self.fd = os.open(self.path, _FLAGS)

    def turn(self) -> bool:
        """Go on in the next file, if there is one."""
        try:
            mine = os.fstat(self.fd)
            newest = os.stat(self.path)
            if os.path.samestat(mine, newest):
                return False
            files = rawfolder.parts(self.path)
            at = next((i for i, file in enumerate(files) if os.path.samestat(mine, file.stat())), -1)
            if at + 1 >= len(files):
                return False
            fd = os.open(files[at + 1], _FLAGS)
        except OSError:  # just being renamed: the next time
            return False
        os.close(self.fd)
        self.fd = fd
        return True

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
