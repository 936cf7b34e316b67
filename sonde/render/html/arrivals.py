"""When each rank came to each collective that all share → the page's picture of collectives × ranks.

Lateness is against the first rank to come, on the ranks' common clock: for traces as `sonde.analyze.ranks.alignment`
estimates it (nothing is shown when it refuses), for recorded jobs as `sonde.analyze.ranks.shared` has it.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.device.achieved import device_name_in
from sonde.analyze.ranks.alignment import align
from sonde.analyze.ranks.job import Job
from sonde.analyze.ranks.summary import summaries
from sonde.columns import Array
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

MOST = 400  # collectives: those with the widest spread, in the order of time


def add_arrivals(payload: Payload, recording: Recording, origin_ns: int) -> None:
    """Rows are (rank, collective), rank by rank."""
    ranks, names, starts = _found(recording)
    member = starts >= 0
    first = np.where(member, starts, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
    late = np.where(member, starts - first, -1)
    chosen = np.sort(np.argsort(-late.max(axis=0, initial=0), kind="stable")[:MOST])
    chosen = chosen[np.argsort(first[chosen], kind="stable")]
    count = len(chosen)
    payload.add(
        "arrivals",
        rank=np.repeat(np.array(ranks, np.int64), count),
        collective=np.tile(np.arange(count), len(ranks)),
        name=np.tile(np.array([payload.strings(names[i]) for i in chosen.tolist()], np.int64), len(ranks)),
        start=np.tile(first[chosen] - origin_ns, len(ranks)),
        late=late[:, chosen].reshape(-1),
    )


def _found(recording: Recording) -> tuple[tuple[int, ...], list[str], Array]:
    none: tuple[tuple[int, ...], list[str], Array] = ((), [], np.zeros((0, 0), np.int64))
    ranks = np.unique(recording.table("processes").array("rank"))
    if len(ranks[ranks >= 0]) < 2:
        return none
    if len(recording.table("collectives")):
        shared = Job(recording.table).shared
        kinds = recording.table("collectives").text("kind")
        some = shared.row.max(axis=0, initial=-1)
        names = [kinds[row] or "" for row in some.tolist()]
        return shared.ranks, names, np.where(shared.member, shared.queued, -1)
    if not len(recording.table("kernels")):
        return none
    told = summaries(recording.table, recording.meta.program, device_name_in(recording.meta.details))
    if len({s.rank for s in told}) != len(told):
        return none
    found = align({s.rank: s.collectives for s in told})
    return (found.ranks, list(found.operations), found.starts) if found.aligned else none
