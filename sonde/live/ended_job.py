"""A job that has ended, as its recording has it → what each rank was in at the end.

In: a recording. Out: `RankState`s: collectives that were entered and never left, the last place that was sampled on
each rank's stepping thread, and how each process ended.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.analyze.ranks.hang import Pending, RankState
from sonde.analyze.ranks.job import Job
from sonde.analyze.ranks.shared import group_keys
from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Table
from sonde.errors import InputError
from sonde.store.recording import Recording


def states_of(recording: Recording) -> list[RankState]:
    """One state per rank."""
    job = Job(recording.table)
    if not job.ranks:
        raise InputError("the recording has no ranks", "sonde hang looks at jobs of torch.distributed")
    processes, calls = recording.table("processes"), recording.table("collectives")
    keys = group_keys(recording.table("groups"))
    codes = dict(zip(processes.array("process").tolist(), processes.array("exit_code").tolist(), strict=True))
    found = []
    for process, rank in sorted(job.rank_of.items(), key=lambda item: item[1]):
        mine = calls.take(np.flatnonzero(calls.array("process") == process))
        state = replace(_collectives(mine, keys, rank), pid=process)
        place = _place(recording, process)
        code = codes[process]
        killed = f"killed by signal {-code}" if -1000 < code < 0 else f"exit code {code}" if code > 0 else ""
        found.append(replace(state, file=place[0], line=place[1], function=place[2], ended=killed))
    return found


def _collectives(calls: Table, keys: dict[int, tuple[str, tuple[int, ...]]], rank: int) -> RankState:
    pending: list[Pending] = []
    entered: dict[str, int] = {}
    last: dict[tuple[str, int], Pending] = {}
    end_of_all = int(max(calls.array("end_ns").max(initial=0), calls.array("queued_ns").max(initial=0)))
    for row in range(len(calls)):
        name, ranks = keys.get(int(calls.array("group")[row]), ("?", ()))
        number, peer = int(calls.array("number")[row]), int(calls.array("peer")[row])
        one = Pending(
            name,
            ranks,
            number,
            calls.text("kind")[row] or "?",
            int(calls.array("bytes")[row]),
            calls.text("dtype")[row],
            (end_of_all - int(calls.array("queued_ns")[row])) / 1e9,
            ranks[peer] if 0 <= peer < len(ranks) else peer,
        )
        if number >= 0:
            entered[name] = max(entered.get(name, 0), number)
            last[name, number] = one
            if int(calls.array("end_ns")[row]) < 0:
                pending.append(replace(one, since_s=None))
    return RankState(rank, pending=tuple(pending), entered=entered, last=last, known=True)


def _place(recording: Recording, process: int) -> tuple[str, int, str]:
    """Where the rank's busiest thread was seen last, by the user's innermost line."""
    threads, samples = recording.table("threads"), recording.table("samples")
    main = threads.array("thread")[
        (threads.array("process") == process) & threads.text("kind").equals("main")
    ]
    mine = samples.take(np.flatnonzero(np.isin(samples.array("thread"), main)))
    if not len(mine):
        return "", -1, ""
    frames = recording.table("frames")
    index = StackIndex(frames, recording.table("stacks"))
    for row in np.argsort(-mine.array("time_ns"), kind="stable")[:50].tolist():
        stack = int(mine.array("stack")[row])
        line = int(index.user_line[stack]) if 0 <= stack < len(index) else -1
        if line >= 0:
            return (
                frames.text("file")[line] or "",
                int(frames.array("line")[line]),
                frames.text("name")[line] or "",
            )
    return "", -1, ""
