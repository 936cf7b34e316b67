"""Piece kept: of what a line makes only a piece is read, so most of its work is for nothing.

Condition: the program reads a value only by indexing; the windows' calls show that all pieces of a step together are
    at most a quarter of it; and what made it works on each row apart (no attention, convolution, recurrence, or sum
    along the cut dimension). Of a value that a loop makes out of itself, as the layers of a model, only the last turn
    counts, and it may mix rows. The line takes at least 10 % of the step.
Saving: the part of the line that is not kept (60 to 100 %); of a loop's last turn 30 to 100 %.
Not for: values that are read whole anywhere, and pieces that together are all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.calls import parsed
from sonde.insights.line_signs import LEAST_CUT
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.pieces import MIXING, Piece, piece_of
from sonde.insights.rule import Finding, Rule
from sonde.insights.source_cuts import Cut
from sonde.insights.subject import Subject
from sonde.insights.ways import ONLY_A_PIECE

LEAST_SHARE, MOST_TURNS = 0.10, 8
LAST_TURN_WON = 0.3  # at least: its keys and values may still be needed of all
_WHOLE = re.compile(
    r"attention|conv|pool|(batch|group|instance)_norm|bmm|baddbmm|einsum|interpolate|upsample|roll|flip|unique|sort|topk"
)
_SUMS = re.compile(
    r"^aten::(sum|mean|amax|amin|max|min|argmax|argmin|linalg_vector_norm|norm|var|std|prod|logsumexp)$"
)
_PRODUCT = re.compile(r"^aten::(mm|addmm|linear|matmul)$")


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    for file, facts in subject.source_facts.items():
        for cut in facts.pieces:
            turns = subject.facts_of(file, cut.made).per_step if cut.looped else 1.0
            piece = _piece(subject, file, cut)
            if piece is None or not 1 <= turns <= MOST_TURNS or (cut.looped and turns < 2):
                continue
            claim = subject.host_at([(file, cut.made)])
            claim |= _in_backward(subject, file, cut.made)
            share = subject.share(claim)
            if share.low / turns < LEAST_SHARE:
                continue
            rows = calls.below(file, cut.made) & ~calls.backward & calls.main
            if _needs_all(subject, np.flatnonzero(rows), piece, cut.looped):
                continue
            low, high = ONLY_A_PIECE.won
            low = LAST_TURN_WON if cut.looped else low
            short = f"{file.rpartition('/')[2]}:{cut.made}"
            part = f"{piece.kept / piece.whole:.1%}"
            yield Finding(
                Insight(
                    rule=RULE.name,
                    title=f"{short}: {share.middle / turns:.0%} of each step makes a value of which {part} is read",
                    why=ONLY_A_PIECE.why,
                    evidence=(
                        Evidence(
                            f"line {cut.kept[0]} keeps {piece.kept:,} of {piece.whole:,} elements in a step",
                            "line", "", file, cut.kept[0],
                        ),
                        Evidence(
                            f"{short} and what it calls: {share.middle:.1%} of the step", "line", "", file, cut.made
                        ),
                        *([Evidence(f"the last of {turns:.0f} turns can do with less")] if cut.looped else []),
                    ),
                    saving=subject.saving(share, low / turns, high / turns),
                    confidence="low" if cut.looped else "medium",
                    fix=ONLY_A_PIECE.fix.format(place=short),
                    experiment=Experiment("patch", note="compare the results of both versions"),
                    file=file,
                    line=cut.made,
                ),
                claim,
            )  # fmt: skip


def _in_backward(subject: Subject, file: str, line: int) -> Mask:
    who = subject.caused
    here = np.array([(p.file, p.line) == (file, line) for p in who.all], np.bool_)
    found: Mask = who.moved & here[who.place]
    return found


def _piece(subject: Subject, file: str, cut: Cut) -> Piece | None:
    """All that a step keeps of it, of how much; None where the calls do not show that it is little."""
    calls = subject.calls
    ops = calls.ops
    rows = np.isin(ops.array("line"), cut.kept) & ops.text("file").equals(file) & ~calls.backward & calls.main
    rows &= calls.parent < 0
    kept, found = 0, None
    for row in np.flatnonzero(rows).tolist():
        inner = ops.text("stack")[row]
        if inner and not any(inner.endswith(f"({file}:{line})") for line in cut.kept):
            continue  # a library that the line calls looks into tensors of its own
        piece = piece_of(calls, row)
        if piece is None or piece.kept == piece.whole:
            continue
        if (ops.text("name")[row] == "aten::index" and not cut.first) or (
            found and piece.whole != found.whole
        ):
            return None
        kept, found = kept + piece.kept, piece
    if found is None:
        return None
    kept, whole = max(kept // max(calls.steps, 1), 1), found.whole * cut.values
    return found._replace(kept=kept, whole=whole) if kept * LEAST_CUT <= whole else None


def _needs_all(subject: Subject, rows: Array, piece: Piece, looped: bool) -> bool:
    """Whether a call makes the pieces out of more than the rows that are kept."""
    calls = subject.calls
    names = calls.ops.text("name")
    products = 0
    for row in rows.tolist():
        name = names[row] or ""
        if MIXING.search(name.removeprefix("aten::")) and "softmax" not in name:
            return True
        if looped:
            continue
        if _WHOLE.search(name) or "softmax" in name:
            return True
        products += bool(_PRODUCT.match(name)) and calls.parent[row] < 0
        if _SUMS.match(name) and _along(
            calls.shapes(row), parsed(calls.ops.text("inputs")[row]), piece.dimension
        ):
            return True
    last = piece.dimension == piece.dimensions - 1
    return last and products > calls.steps * (0 if looped else 1)


def _along(shapes: list[object], inputs: list[object], dimension: int) -> bool:
    """Whether a sum runs along a dimension, or over all."""
    size = len(shapes[0]) if shapes and isinstance(shapes[0], list) else 0
    words = [word for word in inputs[1:] if isinstance(word, str) and re.search(r"\d", word)]
    lists = [word for word in words if word.startswith("[")]  # before it may stand the order of a norm
    for word in lists or words:
        return dimension in {int(n) % max(size, 1) for n in re.findall(r"-?\d+", word)}
    return True


RULE = Rule(
    "piece_kept",
    69,
    "operator calls with shapes, the program's text",
    judge,
    scope="cpu",
    breadth=0,
    way="not at all",
)
