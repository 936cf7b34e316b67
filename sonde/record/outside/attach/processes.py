"""Which processes are meant: by number, by name, with their children.

In: what the user typed. Out: process ids, the outermost first.
"""

from __future__ import annotations

import os
from pathlib import Path

from sonde.errors import InputError, UsageError

_SHORTEST_NAME = 2


def command_of(pid: int) -> list[str]:
    """Its command line; empty when it is gone or hides it."""
    try:
        data = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(word) for word in data.rstrip(b"\0").split(b"\0")] if data else []


def named(name: str) -> list[int]:
    """Processes whose command line has a word that is `name`, or a path that ends in it; sonde's own are left out."""
    if len(name) < _SHORTEST_NAME:
        raise UsageError(f"--name {name!r} is too short", "give the script's or program's name")
    own = {os.getpid(), os.getppid()}
    found = [pid for pid in _all() if pid not in own and _is_named(command_of(pid), name)]
    return [pid for pid in found if not _is_sonde(command_of(pid))]


def _is_named(words: list[str], name: str) -> bool:
    return any(word == name or word.endswith("/" + name) for word in words[:4])


def _is_sonde(words: list[str]) -> bool:
    return any(os.path.basename(word) == "sonde" for word in words[:2])


def one_named(name: str) -> int:
    """The only such process; of a tree its root."""
    found = named(name)
    roots = [pid for pid in found if parent_of(pid) not in found]
    if not roots:
        raise InputError(f"no process is named {name!r}", "list processes with ps -e")
    if len(roots) > 1:
        numbers = ", ".join(map(str, roots[:8]))
        raise UsageError(f"{len(roots)} processes are named {name!r}: {numbers}", "give the process id")
    return roots[0]


def tree_of(pid: int) -> list[int]:
    """The process and all that descend from it, parents first."""
    children: dict[int, list[int]] = {}
    for one in _all():
        children.setdefault(parent_of(one), []).append(one)
    found, look = [], [pid]
    while look:
        one = look.pop(0)
        found.append(one)
        look += sorted(children.get(one, []))
    return found


def parent_of(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text[text.rindex(")") + 2 :].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _all() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
