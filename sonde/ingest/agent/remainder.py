"""CPU time after a thread's last sample → the places of its last samples, flagged.

A sample stands for the time since the one before it, so what a thread used after its last one has no place of its
own. For a thread that lives for seconds that is nothing; for one that lives for five ticks it is a tenth of its
time, and every function of it would be shown a tenth too small. So the remainder is spread over the places of
the thread's last samples, in proportion to their weights. The rows keep `walk` = residual: they are time, but
no samples, and nobody counts them as such. A last sample at the exit would be no better: all of it
would be in `exit`.

Not spread: more time than those samples themselves stand for, unless it is short (the thread was not sampled for long,
so they are no fair picture of it), the agent's own thread, and threads without a sample.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from sonde.ingest.agent.log import WALK_RESIDUAL, RawLog, RawSamples

NEIGHBOURS = 16  # samples: enough for a mix of places, few enough to be near in time
_PERIODS = (
    10  # on a crowded machine, where the kernel's tick often meets others, so much goes by without a sample
)


def with_remainders_spread(log: RawLog, samples: RawSamples) -> RawSamples:
    """`samples` with each remainder as rows of its own at the thread's last places; the sum of weights stays."""
    residual = samples.walk_end == WALK_RESIDUAL
    usual_ns = _PERIODS * 1e9 / max(log.header.rate_hz, 1.0)
    source: list[int] = []  # row whose place is taken
    time_ns: list[int] = []
    weight_ns: list[int] = []
    spread: list[int] = []
    placed = np.flatnonzero(~residual)
    placed = placed[np.lexsort((samples.time_ns[placed], samples.thread[placed]))]
    threads = samples.thread[placed]
    for row in np.flatnonzero(residual).tolist():
        first, end = (int(np.searchsorted(threads, samples.thread[row], side)) for side in ("left", "right"))
        near = placed[max(first, end - NEIGHBOURS) : end]
        weights = samples.weight_ns[near]
        whole, rest = int(weights.sum()), int(samples.weight_ns[row])
        if whole <= 0 or rest > max(whole, usual_ns):
            continue
        edges = np.concatenate([[0], np.cumsum(weights)]) * rest // whole
        spread.append(row)
        source.extend(near.tolist())
        time_ns.extend([int(samples.time_ns[row])] * len(near))
        weight_ns.extend(np.diff(edges).tolist())
    if not spread:
        return samples
    rows = np.concatenate([np.delete(np.arange(len(residual)), spread), np.array(source, np.int64)])
    columns = {field.name: getattr(samples, field.name)[rows] for field in fields(samples)}
    new = slice(len(rows) - len(source), None)
    columns["time_ns"][new] = time_ns
    columns["weight_ns"][new] = weight_ns
    columns["walk_end"][new] = WALK_RESIDUAL
    columns["anchor"][new] = 0
    columns["handler_ns"][new] = 0
    return RawSamples(**columns)
