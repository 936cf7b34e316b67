"""/proc/PID/status as fields, and a user's name: what both refusals of another process need to explain themselves."""

from __future__ import annotations

import pwd

from sonde.machine.tree import Tree


def status_of(tree: Tree, process: int | str) -> dict[str, str] | None:
    """The fields of /proc/PID/status; None where there is no such process."""
    text = tree.text(f"/proc/{process}/status")
    if text is None:
        return None
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
