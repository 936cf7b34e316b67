"""Where the CPU time of a job went, as far as it is known: the one function behind every such figure.

In: the tables processes, threads, frames, stacks, samples and counters. Out: an `Account`.

What a process used is known from (a) its own count at its end, in `processes`; else (b) at least what its samples
stand for. What all used together is known from (c) the system's count for the processes that Sonde, or the
program, waited for (the counter `waited_cpu_ns`), which needs nothing from the processes themselves. The whole
is the larger of (c) and the sum of (a) and (b); what the samples stand for is a share of it, and never more
than the whole: what samples stand for beyond a process's own count is `surplus_ns`, not accounted time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.columns import Table

WAITED = "waited_cpu_ns"  # counter of the whole recording (process -1)
# Between a process's last record and its end the kernel takes its memory apart, and counts that as its CPU time.
_END_NS, _END_SHARE = 5_000_000, 0.01
_SURPLUS_NS, _SURPLUS_SHARE = 10_000_000, 0.005


@dataclass(frozen=True)
class Account:
    """CPU time in ns, and numbers of processes."""

    sampled_ns: int  # what all samples stand for
    whole_ns: int | None  # what the system counted; None: not known (imported)
    recorded_ns: int  # of the whole, what samples stand for
    spread_ns: int  # of that: after a thread's last sample, so spread over the places of its last samples
    unplaced_ns: int  # of that: without a place
    unsampled_ns: int  # of the whole: used by processes that are listed, but were not sampled
    surplus_ns: int  # beyond the whole: samples that stand for more than their process used
    processes: int
    unsampled: int  # processes of unsampled_ns
    unknown: int  # processes that did not count their CPU time: killed, crashed or still running

    @property
    def share(self) -> float | None:
        """0..1 of the whole that samples stand for."""
        return self.recorded_ns / self.whole_ns if self.whole_ns else None

    @property
    def missing_ns(self) -> int:
        """Of the whole, what neither samples stand for nor a listed process without samples used."""
        return max((self.whole_ns or 0) - self.recorded_ns - self.unsampled_ns, 0)

    @property
    def is_missing(self) -> bool:
        """Is more missing than the ends of the processes explain?"""
        return self.missing_ns > self.processes * _END_NS + _END_SHARE * (self.whole_ns or 0)

    @property
    def is_surplus(self) -> bool:
        return self.surplus_ns > self.processes * _SURPLUS_NS + _SURPLUS_SHARE * (self.whole_ns or 0)


def account(tables: Mapping[str, Table]) -> Account:
    """The account of a recording."""
    processes, samples = tables["processes"], tables["samples"]
    on_cpu = ~samples.text("state").equals("waiting")
    weight = np.where(on_cpu, samples.array("weight_ns"), 0)
    residual = samples.text("walk").equals("residual")
    label = _labels(tables["frames"], tables["stacks"])[samples.array("stack")]
    user, system = processes.array("cpu_user_ns"), processes.array("cpu_system_ns")
    known = (user >= 0) & (system >= 0)
    used = np.where(known, user + system, 0)
    stand_for, apart_ns = _by_process(processes, tables["threads"], samples, weight)
    told = np.where(known, np.minimum(stand_for, used), stand_for)
    unsampled = known & (stand_for == 0) & (used > 0)
    waited_ns = _waited(tables["counters"])
    whole_ns = max(int(np.where(known, used, stand_for).sum()) + apart_ns, waited_ns or 0)
    return Account(
        sampled_ns=int(weight.sum()),
        whole_ns=whole_ns if known.any() or waited_ns else None,
        recorded_ns=int(told.sum()) + apart_ns,
        spread_ns=int(weight[residual & ~label].sum()),
        unplaced_ns=int(weight[residual & label].sum()),
        unsampled_ns=int(used[unsampled].sum()),
        surplus_ns=int((stand_for - told).sum()),
        processes=len(np.unique(processes.array("pid"))),
        unsampled=int(unsampled.sum()),
        unknown=int((~known).sum()),
    )


def _by_process(
    processes: Table, threads: Table, samples: Table, weight: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], int]:
    """What the samples of each row of `processes` stand for, and those of no known process."""
    row_of = {number: row for row, number in enumerate(processes.array("process").tolist())}
    rows = np.full(int(threads.array("thread").max(initial=-1)) + 2, len(processes), np.int64)
    for thread, process in zip(
        threads.array("thread").tolist(), threads.array("process").tolist(), strict=True
    ):
        rows[thread] = row_of.get(process, len(processes))
    sums = np.zeros(len(processes) + 1, np.int64)
    np.add.at(sums, rows[samples.array("thread")], weight)  # thread -1 reads the last entry
    return sums[:-1], int(sums[-1])


def _labels(frames: Table, stacks: Table) -> npt.NDArray[np.bool_]:
    """Stacks that are nothing but a label; the last entry is the empty stack."""
    alone = frames.text("layer").equals("label")[stacks.array("frame")] & (stacks.array("parent") < 0)
    return np.append(alone, True)


def _waited(counters: Table) -> int | None:
    found = counters.array("value")[counters.text("name").equals(WAITED)]
    return int(found[-1]) if len(found) else None
