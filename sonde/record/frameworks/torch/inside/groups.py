"""Process groups: who is in which, and which rank this process is in each.

torch makes every group in one Python function, which is wrapped; nothing is asked of a group later, and no collective
passes through here: those are noted by the agent (native/agent/steps/collectives.cpp), with the address of the backend
that ran them. Each group is one line of the log of marks:
    {"kind": "group", "name", "description", "backend", "rank", "size", "ranks", "addresses": [of its backends]}
The first is the default group, whose rank is the rank of the process.
"""

from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any

from sonde.record.inside.patch import wrap

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation

_HEAD_BYTES = 16  # of a Python object; pybind11 keeps the address of the C++ object behind it
MOST_RANKS = 4096  # that a line names one by one


def observe(torch: Any, seen: Observation) -> None:
    """Note every process group from now on."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    def make(original: Any) -> Any:
        def _new_process_group_helper(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            try:
                ranks = kwargs.get("global_ranks_in_group", args[2] if len(args) > 2 else None)
                _note(torch, seen, made[0], ranks)
            except Exception as error:  # one group without a name; the program goes on
                seen.session.lose("observer_failed", 1, "events", f"groups: {type(error).__name__}: {error}")
            return made

        return _new_process_group_helper

    if not wrap(distributed_c10d, "_new_process_group_helper", make):
        seen.session.lose(
            "no_group_hook", 1, "processes", f"torch {torch.__version__} makes groups elsewhere"
        )


def _note(torch: Any, seen: Observation, group: Any, ranks: Any) -> None:
    if not hasattr(group, "rank"):  # this process is not in it
        return
    size = int(group.size())
    members = [int(r) for r in ranks] if ranks else list(range(size))
    seen.session.log.write(
        json.dumps(
            {
                "kind": "group",
                "name": str(getattr(group, "group_name", "")) or None,
                "description": str(getattr(group, "group_desc", "")) or None,
                "backend": str(group.name()) if hasattr(group, "name") else None,
                "rank": int(group.rank()),
                "size": size,
                "ranks": members if size <= MOST_RANKS else None,
                "addresses": _addresses(torch, group),
            }
        )
    )


def _addresses(torch: Any, group: Any) -> list[int]:
    """Where the C++ objects of its backends are; checked against the agent's records after the run, never used here."""
    found = []
    for device in getattr(group, "_device_types", ()):
        try:
            backend = group._get_backend(device)
        except RuntimeError:  # a device that has no backend here
            continue
        found.append(int(ctypes.c_void_p.from_address(id(backend) + _HEAD_BYTES).value or 0))
    return found
