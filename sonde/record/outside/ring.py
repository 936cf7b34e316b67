"""A recording of the last minutes: marks that began before its samples do are left out.

Enters: the tables of a recording whose logs are rings (`sonde watch`), and which processes' logs lack their start.
Leaves: `marks` that agree with the samples, so that what is counted per step has both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sonde.columns import Table
from sonde.ingest.agent.log import RawLog

_OF_THE_PROCESS = ("settings", "compile")  # true of all of its life


def within_rings(marks: Table, processes: Table, logs: Sequence[RawLog]) -> Table:
    """`marks` without those of processes whose ring began later."""
    cut = {log.header.pid for log in logs if log.cut is not None}
    if not cut or not len(marks):
        return marks
    begins = np.full(int(processes.array("process").max(initial=-1)) + 2, -1, np.int64)
    begins[processes.array("process")] = np.where(
        np.isin(processes.array("pid"), list(cut)), processes.array("start_ns"), -1
    )
    stays = np.array([kind in _OF_THE_PROCESS for kind in marks.text("kind").tolist()])
    kept = marks.take(stays | (marks.array("start_ns") >= begins[marks.array("process")]))
    return kept.with_columns(mark=np.arange(len(kept), dtype=np.int32))
