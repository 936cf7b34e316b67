"""Reading /proc and /sys below a root folder, so that other machines' trees can be read too.

Nothing here raises: a file that is absent, unreadable or not text is None, and
the caller says that the fact is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_PIECE_BYTES = 64 << 10
_MAX_PIECES = 128


@dataclass(frozen=True)
class Tree:
    """Files of one machine; `root` is `/` for the one we run on."""

    root: Path = Path("/")

    @property
    def live(self) -> bool:
        """Whether this is the running machine, so that system calls may be asked too."""
        return self.root == Path("/")

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str | None:
        """The content of a file, stripped."""
        try:
            with open(self.path(name), "rb", buffering=0) as file:
                # In small pieces: /proc/sys refuses a read of more than a few megabytes.
                parts: list[bytes] = []
                while len(parts) < _MAX_PIECES and (part := file.read(_PIECE_BYTES)):
                    parts.append(part)
                return b"".join(parts).decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            return None

    def number(self, name: str) -> int | None:
        """A file that holds one integer."""
        return to_int(self.text(name))

    def names(self, folder: str, pattern: str) -> list[str]:
        """Entries of a folder whose whole name matches, in natural order."""
        try:
            found = [p.name for p in self.path(folder).iterdir() if re.fullmatch(pattern, p.name)]
        except (OSError, ValueError):
            return []
        return sorted(found, key=lambda n: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", n)])


def to_int(text: str | None) -> int | None:
    """An integer of at most 20 digits, None for anything else."""
    if text is None or not re.fullmatch(r"-?\d{1,20}", text, re.ASCII):
        return None
    return int(text)


def cpu_list(text: str | None, limit: int = 65536) -> frozenset[int] | None:
    """`0-3,8,10-14:2` as a set; None when it is not such a list. An empty text is an empty set."""
    if text is None:
        return None
    cpus: set[int] = set()
    for part in text.split(","):
        if not part.strip():
            continue
        found = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6})(?::(\d{1,6}))?)?\s*", part, re.ASCII)
        if not found:
            return None
        first = int(found[1])
        last = int(found[2]) if found[2] else first
        step = int(found[3]) if found[3] else 1
        if last < first or last >= limit or step < 1:
            return None
        cpus.update(range(first, last + 1, step))
    return frozenset(cpus)


def to_cpu_list(cpus: frozenset[int]) -> str:
    """A set as `0-3,8`."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
