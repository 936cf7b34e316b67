"""The ranks of a job that runs, or hangs, on this machine: who they are, where they are, what they are in.

In: process ids (of ranks, or of their launcher). Out: `RankState`s. Stacks are read from outside (`sonde.live.dump`):
nothing is loaded into the processes, nothing is stopped for more than a moment. Which collectives are under way is
known where the program runs under `sonde run`: the agent's records lie in mapped files that can be read while it hangs.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sonde import rawfolder
from sonde.analyze.ranks.hang import Pending, RankState
from sonde.analyze.samples.stack_index import LIBRARY_PYTHON
from sonde.errors import SondeError
from sonde.ingest.observers import collectives as collective_files
from sonde.ingest.observers import marks as mark_files
from sonde.live.dump import ProcessDump, ThreadDump, dump
from sonde.record.inside.observation import OPTIONS_VARIABLE
from sonde.record.inside.ranks import told_by
from sonde.symbols.resolver import Resolver

LOOK_APART_S = 1.0  # between two looks at the counters of collectives
_COLLECTIVE_FILE = re.compile(r"torch/distributed/(distributed_c10d|_functional_collectives)\.py$")
_HELPERS = ("wrapper", "_wait", "wait", "_exception_logger")
_COLLECTIVE_NATIVE = re.compile(r"^c10d::(Work::wait|ProcessGroup|Reducer)|^gloo::")
_LOADER = re.compile(r"torch/utils/data/(dataloader|_utils/)")
_DEBUGGER = re.compile(r"/(pdb|bdb)\.py$|/debugpy/|/pydevd")


@dataclass(frozen=True)
class Look:
    """One rank: its stacks, and what is known of its place in the job."""

    state: RankState
    dump: ProcessDump | None
    why: str = ""  # why it could not be read


def find_ranks(pids: list[int]) -> list[int]:
    """The rank processes among these and their descendants; those given themselves where none is found."""
    children = _children()
    family: list[int] = []
    queue = list(pids)
    while queue:
        one = queue.pop(0)
        if one not in family:
            family.append(one)
            queue += children.get(one, [])
    ranks = [pid for pid in family if is_rank(pid)]
    return ranks or [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def all_ranks() -> list[int]:
    """Every process of this user that is a rank of some job."""
    mine = os.geteuid()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if mine in (0, Path(f"/proc/{name}").stat().st_uid) and is_rank(int(name)):
                    found.append(int(name))
            except OSError:
                continue
    return sorted(found)


def is_rank(pid: int) -> bool:
    """Has it made a process group, by Sonde's log, or was it started as a rank (and is no worker of one)?"""
    if noted_groups(pid):
        return True
    environment = environment_of(pid)
    told = told_by(environment)
    if told["rank"] < 0 or not _has_torch(pid):
        return False
    parent = told_by(environment_of(_parent(pid)))
    return (parent["rank"], parent["launcher"]) != (told["rank"], told["launcher"])


def look_at(pids: list[int]) -> list[Look]:
    """Every rank, dumped once; ranks whose collectives are known are looked at twice."""
    resolver = Resolver(with_lines=False)
    before = {pid: _progress(pid) for pid in pids}
    began = time.monotonic()
    looks = [_look(pid, resolver) for pid in pids]
    left = LOOK_APART_S - (time.monotonic() - began)
    if left > 0 and any(p is not None for p in before.values()):
        time.sleep(left)
    for at, pid in enumerate(pids):
        after = _progress(pid)
        if before[pid] is not None and after != before[pid]:
            looks[at] = replace(looks[at], state=replace(looks[at].state, moved=True))
    return _numbered(looks)


def _numbered(looks: list[Look]) -> list[Look]:
    """Ranks that nobody told are numbered by their process ids."""
    taken = {look.state.rank for look in looks if look.state.rank >= 0}
    free = (n for n in range(len(looks) * 2) if n not in taken)
    return [
        look if look.state.rank >= 0 else replace(look, state=replace(look.state, rank=next(free)))
        for look in sorted(looks, key=lambda look: look.state.pid)
    ]


def world_size(pids: list[int]) -> int:
    """As the ranks know it; -1: not known."""
    sizes = []
    for pid in pids:
        groups = noted_groups(pid)
        sizes.append(int(groups[0]["size"]) if groups else int(told_by(environment_of(pid))["world_size"]))
    return max(sizes, default=-1)


def _look(pid: int, resolver: Resolver) -> Look:
    state = _collectives(pid, RankState(_rank(pid), pid))
    if not os.path.exists(f"/proc/{pid}") or _letter(pid) in ("Z", "X", ""):
        return Look(replace(state, alive=False), None)
    try:
        seen = dump(pid, resolver)
    except SondeError as error:
        return Look(state, None, error.message)
    main = next((t for t in seen.threads if t.tid == pid), None)
    if main is None:
        return Look(state, seen)
    return Look(_placed(state, main, pid, resolver), seen)


def _placed(state: RankState, main: ThreadDump, pid: int, resolver: Resolver) -> RankState:
    python = [f for f in main.frames if f.layer == "python"]
    user = next((f for f in python if not LIBRARY_PYTHON.search(f.place)), None)
    inside = next((f.name for f in python if _COLLECTIVE_FILE.search(f.place) and f.name not in _HELPERS), "")
    native = next((f for f in main.frames if f.layer == "native" and _COLLECTIVE_NATIVE.search(f.name)), None)
    stopped = ""
    if main.state == "stopped":
        stopped = "traced by a debugger" if _letter(pid) == "t" else "stopped by a signal"
    elif any(_DEBUGGER.search(f.place) for f in python):
        stopped = "in a debugger (pdb)"
    loading = (
        _loading(python, pid, resolver) if any(_LOADER.search(f.place) for f in python) and not inside else ""
    )
    waits = main.wait.text if main.wait is not None and not inside and native is None else ""
    return replace(
        state,
        function=user.name if user else "",
        file=user.place if user else "",
        line=user.line or -1 if user else -1,
        in_collective=inside or ("backward" if native is not None else ""),
        stopped=stopped,
        loading=loading,
        waits_for=waits,
    )


def _loading(python: object, pid: int, resolver: Resolver) -> str:
    """What the workers of a data loader do, when there are any."""
    for child in _children().get(pid, []):
        try:
            seen = dump(child, resolver)
        except SondeError:
            continue
        main = next((t for t in seen.threads if t.tid == child), None)
        frames = [f for f in main.frames if f.layer == "python"] if main else []
        if not any(_LOADER.search(f.place) for f in frames):
            continue
        user = next((f for f in frames if not LIBRARY_PYTHON.search(f.place)), None)
        if user is not None:
            return f"worker {child} is at {user.place.rpartition('/')[2]}:{user.line} in {user.name}()"
    return "it loads in the rank itself"


def _collectives(pid: int, state: RankState) -> RankState:
    """What the agent noted of it, read while it runs."""
    calls = _calls(pid)
    if calls is None:
        return state
    groups = noted_groups(pid)
    of_address = {int(a): g for g in groups for a in g.get("addresses") or ()}
    now = time.monotonic_ns()
    pending: list[Pending] = []
    entered: dict[str, int] = {}
    last: dict[tuple[str, int], Pending] = {}
    for row in range(len(calls)):
        told = of_address.get(int(calls.address[row]), {})
        name = str(told.get("name") or "?")
        ranks = tuple(int(r) for r in told.get("ranks") or ())
        number, peer = int(calls.number[row]), int(calls.peer[row])
        one = Pending(
            _named(name, told.get("description")),
            ranks,
            number,
            calls.kind[row],
            int(calls.bytes[row]),
            calls.dtype[row],
            (now - int(calls.queued_ns[row])) / 1e9,
            ranks[peer] if 0 <= peer < len(ranks) else peer,
        )
        if number >= 0:
            entered[one.group] = max(entered.get(one.group, 0), number)
            last[one.group, number] = one
        if int(calls.end_ns[row]) < 0:
            pending.append(one)
    # A send that nobody waited for has no end: only the last is under way.
    messages = [p for p in pending if p.number < 0]
    pending = [p for p in pending if p.number >= 0] + messages[-1:]
    return replace(state, pending=tuple(pending), entered=entered, last=last, known=True)


def _named(name: str, description: object) -> str:
    return (
        name if not description or description in ("default_pg", "undefined") else f"{name} ({description})"
    )


def _calls(pid: int) -> collective_files.Calls | None:
    raw = _raw(pid)
    if raw is None:
        return None
    path = raw / rawfolder.NATIVE_EVENTS.name(pid)
    try:
        return collective_files.read(path)
    except OSError:
        return None


def _progress(pid: int) -> tuple[int, int] | None:
    """Collectives entered and left so far; None: not known."""
    calls = _calls(pid)
    return None if calls is None else (len(calls), int((np.asarray(calls.end_ns) > 0).sum()))


def noted_groups(pid: int) -> list[dict[str, Any]]:
    """The process groups that Sonde's observer noted, the default one first."""
    raw = _raw(pid)
    if raw is None:
        return []
    files = [file for file in rawfolder.MARKS.find(raw) if file.pid == pid] if raw.is_dir() else []
    return mark_files.read(files[-1]).groups if files else []


def _raw(pid: int) -> Path | None:
    try:
        folder = json.loads(environment_of(pid).get(OPTIONS_VARIABLE, ""))["folder"]
    except (ValueError, KeyError, TypeError):
        return None
    return Path(str(folder)) / rawfolder.FOLDER


def _rank(pid: int) -> int:
    groups = noted_groups(pid)
    return int(str(groups[0]["rank"])) if groups else int(told_by(environment_of(pid))["rank"])


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty when it may not be read."""
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)


def _has_torch(pid: int) -> bool:
    try:
        return "libtorch" in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            found.setdefault(_parent(int(name)), []).append(int(name))
    return found


def _parent(pid: int) -> int:
    fields = _stat(pid).split()
    return int(fields[1]) if len(fields) > 1 else -1


def _letter(pid: int) -> str:
    return _stat(pid)[:1]


def _stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2]
    except OSError:
        return ""
