"""`sonde insights REC --verify MINUTES`: run the experiments that need no edit, and mark each card.

Enters: a recording and its report. Leaves: one `Mark` per card: proved, refuted or open, with the reason. Each
experiment is a `sonde prove` of its own, so that its outcome is in the ledger as every other proof is.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.insights.model import Insight

WITHOUT_EDIT = ("environment", "flag", "arguments")
SHORTEST_MINUTES = 0.2  # of one experiment: less tells nothing


@dataclass(frozen=True)
class Mark:
    """What became of one card."""

    rule: str
    state: str  # proved, refuted or open
    reason: str


def verify(
    recording: Path,
    insights: Sequence[Insight],
    minutes: float,
    prove: Callable[[Path, str, float], dict[str, Any] | str] | None = None,
) -> list[Mark]:
    """Mark every card; the time left is shared equally by the experiments that are still to be run."""
    prove = prove or _prove
    until = time.monotonic() + 60 * minutes
    todo = [i.rule for i in insights if i.experiment.kind in WITHOUT_EDIT]
    marks = []
    for insight in insights:
        if insight.rule not in todo:
            marks.append(
                Mark(insight.rule, "open", "the change needs an edit: sonde prove --before … --after …")
            )
            continue
        left = (until - time.monotonic()) / 60 / len(todo)
        todo.remove(insight.rule)
        if left < SHORTEST_MINUTES:
            marks.append(Mark(insight.rule, "open", "no time was left for it"))
        else:
            marks.append(marked(insight.rule, prove(recording, insight.rule, left)))
    return marks


def marked(rule: str, proof: dict[str, Any] | str) -> Mark:
    """The mark for what `sonde prove --json` said, or for its error."""
    if isinstance(proof, str):
        return Mark(rule, "open", proof)
    word = proof["outcome"]
    state = {"proved": "proved", "open": "open"}.get(word, "refuted")
    return Mark(rule, state, f"{word}, measured saving {proof['measured']:.1%}")


def _prove(recording: Path, rule: str, minutes: float) -> dict[str, Any] | str:
    command = [
        sys.executable,
        "-m",
        "sonde",
        "prove",
        "--budget",
        f"{minutes:.3f}",
        "--json",
        str(recording),
        rule,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["the experiment failed"])[-1]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said
