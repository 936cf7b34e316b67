"""`sonde hang`: the verdict first, then where the ranks are, those at one place together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sonde.analyze.ranks.hang import RankState, Verdict, waiting_words
from sonde.render.text.page import Page


def show_hang(found: Verdict, states: Sequence[RankState], notes: Sequence[str], page: Page) -> None:
    """Print it."""
    page.heading(found.sentence[:1].upper() + found.sentence[1:] + ".")
    for note in notes:
        page.line(f"Note: {note}")
    page.line()
    places: dict[str, list[RankState]] = {}
    for state in states:
        places.setdefault(_where(state), []).append(state)
    for where, members in sorted(places.items(), key=lambda item: -len(item[1])):
        ranks = ", ".join(str(s.rank) for s in members[:16]) + (", …" if len(members) > 16 else "")
        pids = ", ".join(str(s.pid) for s in members[:4] if s.pid > 0)
        page.line(
            f"{'ranks' if len(members) > 1 else 'rank'} {ranks}{f' (pid {pids})' if pids else ''}: {where}"
        )


def _where(state: RankState) -> str:
    if not state.alive:
        return f"gone {state.ended}".strip()
    parts = [f"at {state.place}"] if state.file else []
    parts += [one.name for one in state.pending[:3]]
    if not state.pending and state.in_collective:
        parts.append(f"in {state.in_collective}()")
    parts += [words for words in (state.stopped, state.loading) if words]
    if state.waits_for and not state.pending:
        parts.append(waiting_words(state.waits_for))
    return ", ".join(parts) or "nothing known"


def as_json(found: Verdict, states: Sequence[RankState], notes: Sequence[str]) -> str:
    """For programs."""
    ranks: list[dict[str, Any]] = []
    for state in states:
        one = asdict(state)
        one.pop("last")
        ranks.append(one)
    return json.dumps({"verdict": asdict(found), "notes": list(notes), "ranks": ranks})
