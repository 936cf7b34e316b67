"""Copies and sets of devices: direction, pageable or pinned, bytes, bandwidth.

Enters: `Work`, `kernels`. Leaves: `CopyRow` per direction and memory kind.
    bandwidth = Σ bytes / Σ duration over copies whose bytes and duration are both known and positive
(not the mean of the profiler's rates: that would weigh a 4-byte copy like a gigabyte).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.device.events import Work
from sonde.analyze.device.kernel_names import COPY
from sonde.analyze.device.kernel_table import groups
from sonde.columns import Table

_DIRECTION = re.compile(r"\b([HDPA])to([HDPA])\b|(Host|Device|Peer)To(Host|Device|Peer)", re.IGNORECASE)


@dataclass(frozen=True)
class CopyRow:
    """All copies of one direction between one pair of memory kinds."""

    direction: str  # HtoD, DtoH, DtoD, PtoP, set or unknown
    memory: str  # pageable, pinned, device or unknown: the host side where there is one
    calls: int
    bytes: int  # of the calls whose size is known
    total_ns: int
    bandwidth_gbs: float | None  # None when no size is known
    best_gbs: float | None  # of the largest copy
    small_calls: int  # copies of less than 64 KiB: latency, not bandwidth, decides them


SMALL_BYTES = 64 * 1024


def copy_table(work: Work, kernels: Table) -> list[CopyRow]:
    """Most time first."""
    copies = work.take(work.kind_class == COPY)
    size = kernels.array("bytes")[copies.row]
    length = copies.durations
    label = [_label(v) for v in (*copies.name.values, "")]  # code -1 reads the last entry
    names = sorted(set(label))
    code = np.array([names.index(x) for x in label], np.int64)[copies.name.codes]
    rows = []
    for mine in groups(code):
        direction, memory = names[int(code[mine[0]])]
        known = mine[(size[mine] > 0) & (length[mine] > 0)]
        spent = int(length[known].sum())
        biggest = known[int(np.argmax(size[known]))] if len(known) else -1
        rows.append(
            CopyRow(
                direction,
                memory,
                len(mine),
                int(size[mine][size[mine] > 0].sum()),
                int(length[mine].sum()),
                int(size[known].sum()) / spent if spent else None,
                int(size[biggest]) / int(length[biggest]) if len(known) else None,
                int((size[mine] < SMALL_BYTES).sum()),
            )
        )
    return sorted(rows, key=lambda r: -r.total_ns)


def _label(name: str) -> tuple[str, str]:
    """(direction, kind of host memory) that the name of a copy tells."""
    low = name.lower()
    if low.startswith("memset") or "fillbuffer" in low or "fill" in low.split("_"):
        return "set", "device"
    match = _DIRECTION.search(name)
    if not match:
        return "unknown", "unknown"
    ends = [g[0].upper() for g in match.groups() if g]
    direction = f"{ends[0]}to{ends[1]}"
    if "H" not in ends:
        return direction, "device"
    memory = "pageable" if "pageable" in low else "pinned" if "pinned" in low else "unknown"
    return direction, memory
