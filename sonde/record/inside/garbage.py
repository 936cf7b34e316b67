"""Python's garbage collections that took time, as marks.

The callback may run in the middle of anything, our own log included, so it only
appends to a list that the next mark writes.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from sonde.record.inside.session import now_ns

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation

SHORTEST_NS = 500_000  # shorter ones are no finding, and there are thousands


def observe(seen: Observation) -> None:
    """Follow collections from now on."""
    session = seen.session
    started = [0]

    def on_collection(moment: str, info: dict[str, Any]) -> None:
        if moment == "start":
            started[0] = now_ns()
            return
        start, end = started[0], now_ns()
        if start and end - start >= SHORTEST_NS:
            session.waiting.append(
                f'{{"kind":"gc","name":"generation {info["generation"]}","number":{info["generation"]},'
                f'"start_ns":{start},"end_ns":{end},"tid":{session.tid()},"collected":{info["collected"]}}}'
            )

    gc.callbacks.append(on_collection)
    session.on_leave.append(lambda: gc.callbacks.remove(on_collection))
