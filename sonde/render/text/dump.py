"""Stacks of running processes as text, equal ones folded into one with a count; and as JSON.

In: ProcessDumps. Out: text, root last as in a debugger.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence

from sonde.live.dump import ProcessDump, ThreadDump
from sonde.live.frames import Frame

_MOST_NAMED = 6  # threads of one group that are listed by number


def as_text(dumps: Sequence[ProcessDump], python_only: bool = False) -> str:
    """For people."""
    return "\n\n".join("\n".join(_process(one, python_only)) for one in dumps)


def as_json(dumps: Sequence[ProcessDump]) -> str:
    """For scripts: every thread by itself."""
    return json.dumps({"processes": [dataclasses.asdict(one) for one in dumps]}, indent=1)


def _process(one: ProcessDump, python_only: bool) -> Iterable[str]:
    python = f", Python {one.python}" if one.python else ""
    count = len(one.threads)
    yield _plain(f"Process {one.pid}: {one.command}")
    yield f"{count} thread{'s' if count != 1 else ''}{python}"
    yield from (f"! {note}" for note in one.notes)
    for group in _groups(one.threads, python_only):
        yield ""
        yield _heading(group)
        first = group[0]
        yield from (f"  ! {note}" for note in first.notes)
        frames = _shown(first, python_only)
        yield from (f"    {_plain(_line(frame))}" for frame in frames)
        if not frames:
            yield "    (no frames)"


def _groups(threads: Iterable[ThreadDump], python_only: bool) -> list[list[ThreadDump]]:
    """Threads with the same stack, state and kind of wait. The GIL's holder stands alone."""
    groups: dict[object, list[ThreadDump]] = {}
    for thread in threads:
        wait = (thread.wait.kind, thread.wait.holder) if thread.wait else None
        key = (_shown(thread, python_only), thread.state, wait, thread.holds_gil, thread.notes)
        groups.setdefault(key, []).append(thread)
    return list(groups.values())


def _shown(thread: ThreadDump, python_only: bool) -> tuple[Frame, ...]:
    return tuple(f for f in thread.frames if f.layer == "python") if python_only else thread.frames


def _heading(group: Sequence[ThreadDump]) -> str:
    first = group[0]
    if len(group) == 1:
        who = f'Thread {first.tid} "{first.name}"'
    else:
        names = {thread.name for thread in group}
        named = f' "{first.name}"' if len(names) == 1 else ""
        listed = ", ".join(str(thread.tid) for thread in group[:_MOST_NAMED])
        who = f"{len(group)} threads{named} ({listed}{', …' if len(group) > _MOST_NAMED else ''})"
    return _plain(f"{who}: {_doing(first)}{', holds the GIL' if first.holds_gil else ''}")


def _doing(thread: ThreadDump) -> str:
    if thread.wait is None:
        return thread.state
    if thread.wait.kind == "sleep":
        return "sleeping"
    held = f", held by thread {thread.wait.holder}" if thread.wait.holder else ""
    unknown = ", holder not known" if not held and thread.wait.kind in ("gil", "mutex", "lock") else ""
    return f"waiting for {thread.wait.text}{held}{unknown}"


def _line(frame: Frame) -> str:
    if frame.layer == "python":
        return f"{frame.name} ({frame.place}:{frame.line})" if frame.line else f"{frame.name} ({frame.place})"
    return f"{frame.name} [{frame.place}]{'' if frame.certain else ' ?'}"


def _plain(text: str) -> str:
    """What another program named itself cannot move the cursor."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
