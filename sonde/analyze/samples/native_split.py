"""Where an operator's own time went natively: kernels, waits, spin, page faults, allocation, the rest.

In: `samples` with their stacks, and which group of operators each belongs to. Out: per group the
on-CPU time by part and by innermost function, and the time off the CPU by reason.

Shares are of the group's on-CPU samples and carry a 95 % interval (Wilson) for the number of independent looks that
they rest on (`moments`). Time off the CPU was measured wait by wait, not sampled, and stands beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.moments import independent_looks
from sonde.analyze.samples.frame_kinds import KINDS, frame_kinds
from sonde.analyze.samples.labels import frame_labels
from sonde.analyze.samples.leaves import telling_frames
from sonde.columns import Array, Table

# state of a sample that says more than its frame
STATE_PARTS = {"spinning": "spin", "imbalance": "imbalance"}
PARTS = (
    "kernel",
    "copy",
    "spin",
    "imbalance",
    "fault",
    "allocation",
    "dispatch",
    "binding",
    "python",
    "system",
    "other",
)


@dataclass(frozen=True)
class Share:
    """A part of a group's on-CPU time, with the interval that the number of samples allows."""

    name: str
    part: str
    ns: int
    samples: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class NativeSplit:
    """What the samples of one group of operators say."""

    samples: int
    on_cpu_ns: int
    parts: list[Share]  # largest first
    leaves: list[Share]  # innermost functions, largest first
    waits: dict[str, tuple[int, int]] = field(default_factory=dict)  # reason → (ns, waits)


def native_split(group: Array, samples: Table, stacks: Table, frames: Table) -> dict[int, NativeSplit]:
    """Per group number the split of its samples; `group` is -1 for samples that belong to none."""
    leaf = _leaf_frames(samples, stacks, frames)
    part, labels = _parts(samples, frames, leaf), frame_labels(frames)
    waiting = samples.text("state").equals("waiting")
    weight, time_ns = samples.array("weight_ns"), samples.array("time_ns")
    reasons = samples.text("reason").objects()
    order = np.argsort(group, kind="stable")
    order = order[group[order] >= 0]
    edges = np.flatnonzero(np.diff(group[order], prepend=-1))
    result = {}
    for rows in np.split(order, edges[1:]) if len(order) else []:
        busy, off = rows[~waiting[rows]], rows[waiting[rows]]
        waits: dict[str, tuple[int, int]] = {}
        for row in off.tolist():
            ns, count = waits.get(reasons[row] or "other", (0, 0))
            waits[reasons[row] or "other"] = (ns + int(weight[row]), count + 1)
        named = [labels[f] if f >= 0 else "unknown" for f in leaf[busy].tolist()]
        looks = independent_looks(time_ns[busy], weight[busy])
        by_part = _shares([(PARTS[p], PARTS[p]) for p in part[busy].tolist()], weight[busy], looks)
        by_leaf = _shares(
            [(n, PARTS[p]) for n, p in zip(named, part[busy].tolist(), strict=True)], weight[busy], looks
        )
        result[int(group[rows[0]])] = NativeSplit(
            len(busy),
            int(weight[busy].sum()),
            by_part,
            by_leaf,
            dict(sorted(waits.items(), key=lambda w: -w[1][0])),
        )
    return result


def wilson(share: float, number: float) -> tuple[float, float]:
    """95 % interval of a share seen in `number` samples; the whole range when there are none."""
    if number <= 0:
        return 0.0, 1.0
    z2 = 1.96**2
    middle = (share + z2 / (2 * number)) / (1 + z2 / number)
    reach = 1.96 / (1 + z2 / number) * math.sqrt(share * (1 - share) / number + z2 / (4 * number**2))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _shares(keys: list[tuple[str, str]], weight: Array, looks: float) -> list[Share]:
    whole = int(weight.sum())
    if not whole:
        return []
    total: dict[tuple[str, str], list[int]] = {}
    for key, ns in zip(keys, weight.tolist(), strict=True):
        entry = total.setdefault(key, [0, 0])
        entry[0] += ns
        entry[1] += 1
    rows = [
        Share(name, part, ns, count, ns / whole, *wilson(ns / whole, looks))
        for (name, part), (ns, count) in total.items()
    ]
    return sorted(rows, key=lambda s: (-s.ns, s.name))


def _leaf_frames(samples: Table, stacks: Table, frames: Table) -> Array:
    """Row in `frames` that tells what each sample ran, -1 when it has no stack."""
    at = rows_of(stacks.array("stack"), samples.array("stack"))
    frame = np.append(telling_frames(stacks, frames), -1)
    return frame[at]


def _parts(samples: Table, frames: Table, leaf: Array) -> Array:
    """Index into `PARTS` for each sample."""
    kinds = np.array([PARTS.index(k) for k in KINDS], np.int64)[frame_kinds(frames)]
    kinds = np.append(kinds, PARTS.index("other"))
    part = kinds[leaf]
    for state, name in STATE_PARTS.items():
        part = np.where(samples.text("state").equals(state), PARTS.index(name), part)
    return part
