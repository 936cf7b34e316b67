"""Rule 13, loop indexing: a tensor is visited element by element or row by row in a Python loop.

Condition: in the recorded steps one line makes at least 10 `select`/`unbind`/`item` calls per step on average in one
    and the same module (torch's ForLoopIndexing pattern), and everything below such lines takes at least 5 % of the
    step.
Saving: (n-1)/n of the time of the loop's lines and of their backward nodes, of which 60 % at least.
Not for: layers that each take a tensor apart once; code inside a DataLoader, where samples are meant to be fetched
    one by one; what the backward pass and optimizers do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import LIBRARY_PYTHON
from sonde.insights.backward_time import with_backward
from sonde.insights.calls import Calls
from sonde.insights.host_layers import in_loader
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

FEWEST_CALLS = 10  # torch/profiler/_pattern_matcher.py, ForLoopIndexingPattern
LEAST_SHARE = 0.05
WON_LOW = 0.6
INDEXING = r"^aten::(select|item|unbind|index|narrow|slice)$"


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    places = {at: n for at, n in _places(calls).items() if _turns(subject, at)}
    if not places:
        return
    claim = subject.host_at(places) & ~in_loader(subject)
    if subject.share(claim).low < LEAST_SHARE:
        return
    share = with_backward(subject, claim, places)
    shown = subject.lines(claim, 2)
    counts = max(places.values())
    place = f"{shown[0].file.rpartition('/')[2]}:{shown[0].line}" if shown else "a loop"
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{place} indexes a tensor element by element, {counts:.0f} times per step",
            why="Each small indexing call costs some microseconds of dispatch, far more than the work in it.",
            evidence=(
                Evidence(
                    f"{share.middle:.1%} of the step is spent below lines that index in a loop, with its backward"
                ),
                *(
                    Evidence(f"{n:.0f} indexing calls per step", "line", "", file, line)
                    for (file, line), n in sorted(places.items(), key=lambda item: -item[1])[:2]
                ),
                *shown,
            ),
            saving=subject.saving(share, WON_LOW, (counts - 1) / counts),
            confidence="high",
            fix=f"# {place}: work on the whole tensor at once\n"
            "y = (x * weight).sum(1)  # instead of [ (x[i] * weight).sum() for i in range(len(x)) ]",
            experiment=Experiment("patch", note="compare the results of both versions"),
        ),
        claim,
    )


def _turns(subject: Subject, at: tuple[str, int]) -> bool:
    """Whether the line runs many times in a step, as far as windows counted: an operator may index by itself."""
    facts = subject.facts_of(*at)
    return not facts.visits or facts.per_step >= FEWEST_CALLS / 2


def _places(calls: Calls) -> dict[tuple[str, int], float]:
    """Lines of the user with many indexing calls in each step of one module, and how many in all."""
    named = calls.named(INDEXING) & calls.main & ~calls.backward & ~calls.optimizer
    rows = np.flatnonzero(named & ~calls.inside(named))
    files, lines, modules = calls.ops.text("file"), calls.ops.array("line"), calls.ops.text("module")
    most: dict[tuple[str, int], int] = {}
    total: dict[tuple[str, int], int] = {}
    keys = np.stack([files.codes[rows], lines[rows], modules.codes[rows]], axis=1).astype(np.int64)
    for (code, line, _), count in zip(*np.unique(keys, axis=0, return_counts=True), strict=True):
        if code < 0 or LIBRARY_PYTHON.search(files.values[code]):
            continue
        place = (files.values[code], int(line))
        most[place] = max(most.get(place, 0), int(count))
        total[place] = total.get(place, 0) + int(count)
    steps = max(calls.steps, 1)
    return {place: total[place] / steps for place, count in most.items() if count / steps >= FEWEST_CALLS}


RULE = Rule(
    "loop_indexing",
    13,
    "operator calls with lines, and samples",
    judge,
    scope="cpu",
    breadth=0,
    way="in bulk",
)
