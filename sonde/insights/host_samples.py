"""The samples that rules judge: of the thread that makes the steps, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array, Table


@dataclass(frozen=True)
class Host:
    """Samples of the thread that makes the steps, within steady steps; preempted ones are left out."""

    samples: Table
    stack: Array  # row in `stacks`, -1 when unknown
    weight: Array  # float ns
    waiting: Mask
    pool: Mask  # waiting for the other threads of its pool, busily or asleep
    whole_ns: float  # that shares are of: without waits for the pool where other programs hold its cores
    looks: float  # samples that the whole stands for
    preempted_share: float  # of the thread's time, as if it had not been left out
    unseen: float  # share of the steps' wall time in no sample: waits too short to be looked at
    behind: Array  # kind of the other threads' work that a wait is for, -1: none (`waited_for.py`)

    def __len__(self) -> int:
        return len(self.stack)
