"""Which ranks make the others wait, how much that costs, and why they are late.

Enters: an `Alignment` and per-rank `RankTimes`. Leaves: `Straggler`s and the waiting time of every rank.
For each shared call, the last rank to start is the one that all others wait for:
    waiting of a rank  = Σ over calls of (last start − its own start)
    caused by a rank   = Σ over calls in which it is last of (its start − start of the last of the others)
A rank is a straggler when it waits much less than its peers: by more than 3 robust sigmas
(1.4826·MAD) and by more than 5 % of the window. With fewer than four ranks, where no such spread exists,
it must come last in two thirds of the calls and cause waits of 5 % of the window.
The cause is where it spends the time that its peers spend waiting: against the median of the other ranks,
the largest of more idle for the host (host), more data loading (input), more compute, more copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.ranks.alignment import Alignment

SIGMAS = 3.0
MIN_SHARE = 0.05
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class RankTimes:
    """What one rank's device and host did in the window; nanoseconds."""

    rank: int
    window_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    idle_ns: int
    idle_host_ns: int  # idle because the host had not launched yet, waiting in sync calls included
    loading_ns: int  # data loading while the device did nothing
    operators_ns: int  # operators on the host while the device did nothing; annotations are none
    regions: tuple[tuple[str, int], ...] = ()  # of the program, around that time, longest first


@dataclass(frozen=True)
class Straggler:
    """A rank that the others wait for."""

    rank: int
    cause: str  # host-bound, input-bound, compute-bound or copy-bound
    last_arrivals: int
    shared: int
    waiting_ns: int
    peers_waiting_ns: int  # median over the other ranks
    caused_ns: int
    evidence: str


def waiting_ns(found: Alignment) -> dict[int, int]:
    """How long each rank waited for the last to come, over all shared calls."""
    if not found.aligned:
        return {}
    late = found.starts.max(axis=0)
    return {r: int(w) for r, w in zip(found.ranks, (late - found.starts).sum(axis=1), strict=True)}


def last_arrivals(found: Alignment) -> dict[int, int]:
    """In how many shared calls each rank came last."""
    if not found.aligned:
        return {}
    last = found.starts.argmax(axis=0)
    return {r: int((last == i).sum()) for i, r in enumerate(found.ranks)}


def stragglers(found: Alignment, times: dict[int, RankTimes]) -> list[Straggler]:
    """The late ranks, worst first; none when clocks could not be aligned."""
    if not found.aligned or found.shared == 0:
        return []
    waits, lasts = waiting_ns(found), last_arrivals(found)
    ordered = np.sort(found.starts, axis=0)
    lead = ordered[-1] - ordered[-2]  # how much the last is behind the last but one
    last = found.starts.argmax(axis=0)
    caused = {r: int(lead[last == i].sum()) for i, r in enumerate(found.ranks)}
    window = float(np.median([t.window_ns for t in times.values()])) if times else 0.0
    rows = []
    for rank in found.ranks:
        others = np.array([w for r, w in waits.items() if r != rank], float)
        if not _late(rank, found, waits, lasts, caused, window):
            continue
        cause, evidence = _cause(rank, times)
        rows.append(
            Straggler(
                rank,
                cause,
                lasts[rank],
                found.shared,
                waits[rank],
                int(np.median(others)),
                caused[rank],
                evidence,
            )
        )
    return sorted(rows, key=lambda s: s.waiting_ns)


def _late(
    rank: int,
    found: Alignment,
    waits: dict[int, int],
    lasts: dict[int, int],
    caused: dict[int, int],
    window: float,
) -> bool:
    if len(found.ranks) < 4:
        return lasts[rank] * 3 >= found.shared * 2 and caused[rank] > MIN_SHARE * window
    all_waits = np.array(list(waits.values()), float)
    middle = float(np.median(all_waits))
    sigma = MAD_TO_SIGMA * float(np.median(np.abs(all_waits - middle)))
    return waits[rank] < middle - max(SIGMAS * sigma, MIN_SHARE * window)


def _cause(rank: int, times: dict[int, RankTimes]) -> tuple[str, str]:
    mine = times[rank]
    peers = [t for r, t in times.items() if r != rank]

    def share(part: str, of: RankTimes) -> float:
        return float(getattr(of, part)) / max(of.window_ns, 1)

    def excess(part: str) -> float:
        return share(part, mine) - float(np.median([share(part, p) for p in peers]))

    loading = excess("loading_ns")
    candidates = {
        "host-bound": excess("idle_host_ns") - max(loading, 0.0),
        "input-bound": loading,
        "compute-bound": excess("compute_ns"),
        "copy-bound": excess("copy_ns"),
    }
    cause = max(candidates, key=lambda c: candidates[c])
    return cause, (
        f"device idle {share('idle_ns', mine):.1%} of its window (peers {_median('idle_ns', peers):.1%}), "
        f"waiting for the host {share('idle_host_ns', mine):.1%} ({_median('idle_host_ns', peers):.1%}), "
        f"operators on the CPU meanwhile {share('operators_ns', mine):.1%} "
        f"({_median('operators_ns', peers):.1%}), "
        f"compute {share('compute_ns', mine):.1%} ({_median('compute_ns', peers):.1%}), "
        f"communication {share('communication_ns', mine):.1%} ({_median('communication_ns', peers):.1%})"
        f"{_region(mine, peers)}"
    )


def _region(mine: RankTimes, peers: list[RankTimes]) -> str:
    """The region in which the rank's host was longest beyond its peers while the device had nothing to do."""
    window = max(mine.window_ns, 1)

    def others(name: str) -> float:
        return float(np.median([dict(p.regions).get(name, 0) / max(p.window_ns, 1) for p in peers]))

    excess = {name: ns / window - others(name) for name, ns in mine.regions}
    best = max(excess, key=lambda name: excess[name], default="")
    if not best or excess[best] < MIN_SHARE:
        return ""
    return f"; the host was in {best!r} {dict(mine.regions)[best] / window:.1%} of it ({others(best):.1%})"


def _median(part: str, of: list[RankTimes]) -> float:
    return float(np.median([getattr(t, part) / max(t.window_ns, 1) for t in of]))
