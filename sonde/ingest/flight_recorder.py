"""Dumps of torch's flight recorder, one file per rank → what each rank had entered and not left.

In: JSON (`_dump_fr_trace_json`, the debug server) or pickles (`TORCH_FR_DUMP_TEMP_FILE`, `nccl_trace_rank_N`). Pickles
are read by an unpickler that resolves no class, so that a file can only hold plain values. Out: `RankState`s.
gloo never says that a collective has begun: what counts is whether it is retired.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from pathlib import Path
from typing import Any

from sonde.analyze.ranks.hang import Pending, RankState
from sonde.errors import InputError

LARGEST_BYTES = 512 * 1024 * 1024
_RANK = re.compile(r"(\d+)(?:\.\w+)?$")
_DONE = ("completed", "retired")


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(
            f"it names {module}.{name}; a flight recorder's dump has plain values only"
        )


def is_dump(path: Path) -> bool:
    """Does a file look like a dump: JSON or a pickle with the recorder's keys near its start or end?"""
    try:
        with path.open("rb") as file:
            head = file.read(65536)
    except OSError:
        return False
    if not (head[:1] == b"{" or head[:1] == b"\x80"):
        return False
    return b"pg_config" in head or b"pg_status" in head or b"profiling_name" in head or b"entries" in head


def read_folder(folder: Path) -> list[RankState]:
    """All dumps in a folder; the rank is the number at the end of each name."""
    files = [p for p in sorted(folder.iterdir()) if p.is_file() and not p.is_symlink() and is_dump(p)]
    if not files:
        raise InputError(
            f"{folder} contains no dumps of torch's flight recorder",
            "give a folder with one JSON or pickle per rank",
        )
    states = [read(path) for path in files]
    seen: dict[int, Path] = {}
    for state, path in zip(states, files, strict=True):
        if state.rank in seen:
            raise InputError(f"{path} and {seen[state.rank]} are both of rank {state.rank}")
        seen[state.rank] = path
    return states


def read(path: Path) -> RankState:
    """One rank's dump."""
    found = _RANK.search(path.name)
    if not found:
        raise InputError(
            f"{path} does not say its rank", "name the files as torch does, with the rank at the end: trace_0"
        )
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(
            f"{path} is larger than {LARGEST_BYTES >> 20} MiB, too large for a flight-recorder dump"
        )
    data = path.read_bytes()
    try:
        dump = json.loads(data) if data[:1] == b"{" else _Plain(io.BytesIO(data)).load()
    except Exception as error:  # pickle raises anything at all on damaged input
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(dump, dict):
        raise InputError(f"{path} is not a flight-recorder dump")
    return state_of(int(found[1]), dump)


def state_of(rank: int, dump: dict[str, Any]) -> RankState:
    """What a dump says of its rank."""
    members = _members(dump.get("pg_config"))
    pending: list[Pending] = []
    entered: dict[str, int] = {}
    last: dict[tuple[str, int], Pending] = {}
    entries = dump.get("entries")
    latest = max((_whole(e.get("time_created_ns")) for e in entries or () if isinstance(e, dict)), default=0)
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        group, one = _entry(entry, members, latest)
        if one.number >= 0:
            entered[group] = max(entered.get(group, 0), one.number)
            last[group, one.number] = one
        if not (entry.get("retired") or str(entry.get("state")) in _DONE):
            pending.append(one)
    frames = _frames(entries)
    return RankState(
        rank,
        pending=tuple(pending),
        entered=entered,
        last=last,
        known=True,
        file=frames[0],
        line=frames[1],
        function=frames[2],
    )


def _entry(entry: dict[str, Any], members: dict[str, tuple[int, ...]], latest: int) -> tuple[str, Pending]:
    named = entry.get("process_group")
    group = str(named[0]) if isinstance(named, (list, tuple)) and named else str(entry.get("pg_id", "?"))
    kind = str(entry.get("profiling_name", "?")).partition(":")[2] or str(entry.get("profiling_name", "?"))
    sizes, types = entry.get("input_sizes") or [], entry.get("input_dtypes") or []
    message = bool(entry.get("is_p2p"))
    peer = re.search(r"(send|recv) (\d+)[-<>]+(\d+)", kind)
    return group, Pending(
        group,
        members.get(group, members.get("", ())),
        -1 if message else _whole(entry.get("collective_seq_id")),
        "receive" if kind.startswith("recv") else kind.split(" ")[0],
        _bytes(sizes, types),
        str(types[0]).lower() if isinstance(types, list) and types else None,
        None if not latest else (latest - _whole(entry.get("time_created_ns"))) / 1e9,
        int(peer[3] if peer[1] == "send" else peer[2]) if peer else -1,
    )


_WIDTH = {
    "float": 4,
    "double": 8,
    "half": 2,
    "bfloat16": 2,
    "long": 8,
    "int": 4,
    "short": 2,
    "char": 1,
    "byte": 1,
    "bool": 1,
}


def _bytes(sizes: Any, types: Any) -> int:
    total = 0
    if not isinstance(sizes, list) or not isinstance(types, list):
        return -1
    for shape, kind in zip(sizes, types, strict=False):
        width = _WIDTH.get(str(kind).lower())
        if width is None or not isinstance(shape, (list, tuple)):
            return -1
        count = 1
        for side in shape:
            count *= _whole(side)
        total += count * width
    return total


def _members(config: Any) -> dict[str, tuple[int, ...]]:
    """Ranks of each group; gloo's dump calls the default group "" here and "0" in its entries."""
    found = {}
    for name, one in config.items() if isinstance(config, dict) else ():
        text = str(one.get("ranks", "")) if isinstance(one, dict) else ""
        found[str(name)] = tuple(int(n) for n in re.findall(r"\d+", text)[:100_000])
    return found


def _frames(entries: Any) -> tuple[str, int, str]:
    """The user's line of the last entry, where the dump has stacks (pickles do)."""
    for entry in reversed(entries) if isinstance(entries, list) else ():
        for frame in entry.get("frames") or () if isinstance(entry, dict) else ():
            if isinstance(frame, dict):
                file = str(frame.get("filename", ""))
                if file.endswith(".py") and not re.search(
                    r"site-packages|dist-packages|/lib/python3|/torch/", file
                ):
                    return file, _whole(frame.get("line")), str(frame.get("name", ""))
        break
    return "", -1, ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else 0
