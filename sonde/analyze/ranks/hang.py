"""Why a job stands still: one verdict from what each rank is doing.

Enters: `RankState`s: where each rank is, and its collectives that are under way, as far as known. Leaves: a `Verdict`.
A rank waits for another when the other has not entered the collective that it is in. The first of these that holds:
    dead         a rank of the job is gone
    mismatch     two ranks entered different operations under one number of one group
    order        ranks wait for each other in a circle, each in another group
    stopped      a rank that others wait for is stopped, or in a debugger
    loader       a rank that others wait for waits for its data loader
    absent       a rank that others wait for is somewhere else
    together     all ranks are in the same collective: the transport does not deliver
    moving       collectives went on while this looked
    unknown      no rank is known to wait
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ORDINARY_SECONDS = 1.0  # a wait shorter than this is no hang


@dataclass(frozen=True)
class Pending:
    """A collective that a rank entered and has not left."""

    group: str
    ranks: tuple[int, ...]  # of the group; empty: unknown
    number: int  # in the group; -1: send or receive
    kind: str
    size_bytes: int = -1
    dtype: str | None = None
    since_s: float | None = None
    peer: int = -1  # of a send or receive

    @property
    def name(self) -> str:
        if self.number < 0:
            return f"{self.kind} {'from' if self.kind == 'receive' else 'to'} rank {self.peer}"
        return f"{self.kind} #{self.number} of group {self.group}"

    @property
    def content(self) -> str:
        size = f" of {self.size_bytes} bytes" if self.size_bytes >= 0 else ""
        return f"{self.kind}{size}{f' {self.dtype}' if self.dtype else ''}"


@dataclass(frozen=True)
class RankState:
    """What is known of one rank."""

    rank: int
    pid: int = -1
    alive: bool = True
    ended: str = ""  # how it ended, where it did
    stopped: str = ""  # "stopped by a signal", "in a debugger (pdb)"
    loading: str = ""  # what its data loader's worker does, when it waits for one
    function: str = ""  # the user's innermost function, and its line
    file: str = ""
    line: int = -1
    in_collective: str = ""  # by its stack: the function of torch.distributed that it is in
    waits_for: str = ""  # by its system call: a lock, a file, …
    pending: tuple[Pending, ...] = ()
    entered: dict[str, int] = field(default_factory=dict)  # group → number of the last collective entered
    last: dict[tuple[str, int], Pending] = field(default_factory=dict)  # recent ones by group and number
    known: bool = False  # whether `pending` and `entered` are known
    moved: bool = False  # it entered or left a collective while this looked

    @property
    def place(self) -> str:
        """eval.py:4 in evaluate()"""
        if not self.file:
            return "a place that is not known"
        function = f" in {self.function}()" if self.function and not self.function.startswith("<") else ""
        return f"{self.file.rpartition('/')[2]}:{self.line}{function}"


@dataclass(frozen=True)
class Verdict:
    """One answer. `ranks`: those that are the cause; `waiting`: those that wait for them."""

    kind: str
    sentence: str
    ranks: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()


def verdict(states: Sequence[RankState], world_size: int = -1) -> Verdict:
    """Judge the ranks of one job."""
    by_rank = {s.rank: s for s in states}
    for judge in (_dead, _moving, _mismatch, _order, _absent, _together):
        found = judge(by_rank, world_size)
        if found is not None:
            return found
    return Verdict("unknown", "no rank is known to wait for another: see where each of them is below")


def _dead(states: dict[int, RankState], world_size: int) -> Verdict | None:
    gone = [r for r, s in states.items() if not s.alive]
    gone += [r for r in range(max(world_size, 0)) if r not in states]
    if not gone or not any(s.alive for s in states.values()):
        return None
    waiting = [r for r, s in states.items() if s.alive and (s.pending or s.in_collective)]
    how = next((states[r].ended for r in gone if r in states and states[r].ended), "")
    text = f"{_ranks(gone)} {_is(gone)} gone{f' ({how})' if how else ''}"
    if waiting:
        text += f"; {_ranks(waiting)} {_wait(waiting)} for it in {_what(states, waiting)}"
    else:
        left = [f"rank {r} is at {s.place}" for r, s in states.items() if s.alive and s.file]
        text += "".join(f"; {one}" for one in left[:3])
    return Verdict("dead", text, tuple(gone), tuple(waiting))


def _moving(states: dict[int, RankState], world_size: int) -> Verdict | None:
    if not any(s.moved for s in states.values()):
        return None
    return Verdict("moving", "the job is not standing still: collectives went on while this looked")


def _mismatch(states: dict[int, RankState], world_size: int) -> Verdict | None:
    for rank, state in states.items():
        for one in state.pending:
            if one.number < 0:
                continue
            for other, theirs in states.items():
                match = theirs.last.get((one.group, one.number))
                if other == rank or match is None or not _differs(one, match):
                    continue
                text = (
                    f"ranks {min(rank, other)} and {max(rank, other)} disagree on collective #{one.number} of group "
                    f"{one.group}: rank {rank} is in {one.content} at {state.place}, "
                    f"rank {other} in {match.content} at {theirs.place}"
                )
                return Verdict(
                    "mismatch", text, (rank, other), tuple(r for r, s in states.items() if s.pending)
                )
    return None


def _differs(one: Pending, other: Pending) -> bool:
    if one.kind != other.kind:
        return True
    if one.dtype and other.dtype and one.dtype != other.dtype:
        return True
    sized = one.kind in ("all_reduce", "broadcast", "reduce", "reduce_scatter")
    return sized and one.size_bytes >= 0 and other.size_bytes >= 0 and one.size_bytes != other.size_bytes


def _missing(states: dict[int, RankState], one: Pending) -> list[int]:
    """Ranks that have not entered a collective that someone is in."""
    if one.number < 0:
        return [one.peer] if one.peer in states else []
    members = one.ranks or tuple(states)
    return [
        r
        for r in members
        if r in states and states[r].known and states[r].entered.get(one.group, 0) < one.number
    ]


def _order(states: dict[int, RankState], world_size: int) -> Verdict | None:
    """A circle: a rank waits for one that waits, in another collective, for the first."""
    waits: dict[int, dict[int, Pending]] = {}
    for rank, state in states.items():
        for one in state.pending:
            for other in _missing(states, one):
                if other != rank:
                    waits.setdefault(rank, {}).setdefault(other, one)
    for rank, others in waits.items():
        for other, mine in others.items():
            back = waits.get(other, {}).get(rank)
            if back is None or (mine.group == back.group and mine.number >= 0 and back.number >= 0):
                continue
            text = (
                f"ranks {rank} and {other} wait for each other: rank {rank} is in {mine.name} at {states[rank].place}, "
                f"rank {other} in {back.name} at {states[other].place}; they call the two in different order"
            )
            return Verdict("order", text, (rank, other), tuple(sorted(waits)))
    return None


def _absent(states: dict[int, RankState], world_size: int) -> Verdict | None:
    """Someone waits in a collective that another never entered."""
    candidates: list[tuple[Pending, list[int]]] = []
    for state in states.values():
        for one in state.pending:
            missing = _missing(states, one)
            if missing:
                candidates.append((one, missing))
    if candidates:
        # The oldest wait is the first cause.
        one, missing = max(candidates, key=lambda c: c[0].since_s or 0.0)
        waiting = [r for r, s in states.items() if any(_same(p, one) for p in s.pending)]
        if one.number < 0:
            verb = "sent" if one.kind == "receive" else "received"
            return _say_absent(states, missing, waiting, f"never {verb} what", one)
        return _say_absent(states, missing, waiting, f"never entered {one.name}", one)
    inside = [r for r, s in states.items() if s.in_collective]
    outside = [r for r, s in states.items() if not s.in_collective]
    unknown = not any(s.known for s in states.values())
    if unknown and inside and outside:
        where = f"is not in {states[inside[0]].in_collective}(), where"
        return _say_absent(states, outside, inside, where, None)
    return None


def _same(one: Pending, other: Pending) -> bool:
    return (one.group, one.number, one.kind, one.peer) == (other.group, other.number, other.kind, other.peer)


def _say_absent(
    states: dict[int, RankState], missing: list[int], waiting: list[int], what: str, one: Pending | None
) -> Verdict:
    first = states[missing[0]]
    since = f" since {one.since_s:.0f} s" if one is not None and one.since_s is not None else ""
    if one is not None and one.number < 0:
        where = f"{what} {_ranks(waiting)} {_wait(waiting)} for{since}"
        tail = ""
    elif one is None:
        where, tail = f"{what} {_ranks(waiting)} {_wait(waiting)}", ""
    else:
        where, tail = what, f"; {_ranks(waiting)} {_wait(waiting)} in it{since}"
    if first.stopped:
        return Verdict(
            "stopped",
            f"{_ranks(missing)} {_is(missing)} {first.stopped} at {first.place} and {where}{tail}",
            tuple(missing),
            tuple(waiting),
        )
    if first.loading:
        loader = f"for its data loader at {first.place} ({first.loading})"
        text = f"{_ranks(missing)} {_wait(missing)} {loader} and {where}{tail}"
        return Verdict("loader", text, tuple(missing), tuple(waiting))
    doing = f", {waiting_words(first.waits_for)}" if first.waits_for else ""
    text = f"{_ranks(missing)} {where}; it is at {first.place}{doing}{tail}"
    if len(missing) > 1:
        places = "; ".join(f"rank {r} is at {states[r].place}" for r in missing[:4])
        text = f"{_ranks(missing)} {where}; {places}{tail}"
    return Verdict("absent", text, tuple(missing), tuple(waiting))


def waiting_words(waits_for: str) -> str:
    """What a thread waits for, as `sonde.live.waits` says it."""
    return "sleeping" if waits_for == "sleep" else f"waiting for {waits_for}"


def _together(states: dict[int, RankState], world_size: int) -> Verdict | None:
    pending = [p for s in states.values() for p in s.pending]
    if not pending or not all(s.pending for s in states.values()):
        return None
    one = pending[0]
    since = f" since {one.since_s:.0f} s" if one.since_s is not None else ""
    text = f"all {len(states)} ranks are in {one.name}{since}: nobody is missing, so the transport does not deliver"
    return Verdict("together", text, (), tuple(states))


def _what(states: dict[int, RankState], waiting: list[int]) -> str:
    for rank in waiting:
        state = states[rank]
        for one in state.pending:
            since = f" since {one.since_s:.0f} s" if one.since_s is not None else ""
            return f"{one.name}{since}"
    return next((f"{states[r].in_collective}()" for r in waiting if states[r].in_collective), "a collective")


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = [str(r) for r in sorted(ranks)[:8]]
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return "ranks " + ", ".join(shown) + more


def _is(ranks: Sequence[int]) -> str:
    return "is" if len(ranks) == 1 else "are"


def _wait(ranks: Sequence[int]) -> str:
    return "waits" if len(ranks) == 1 else "wait"
