"""The signs that decide which way fits a costly line: from samples, windows, operator calls and the program's text.

Enters: a group of host samples and its place. Leaves: `Signs`. What the recording lacks is a sign that is not there.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from sonde.analyze.account.kinds import CODES
from sonde.analyze.account.places import Place
from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.line_facts import LineFacts
from sonde.insights.model import NotEnough
from sonde.insights.pieces import MIXING, piece_of
from sonde.insights.roles import roles
from sonde.insights.source_facts import FileFacts
from sonde.insights.subject import Subject
from sonde.insights.ways import FEWEST_TURNS, Signs

GROWS, PARTS, FEWEST = 1.6, 5, 15  # last fifth against first fifth, and samples in all
MOST_BUILT = 0.5  # of some time
_INITIALISES = r"(^|\.)(__init__|reset_parameters)$"
LEAST_CUT = 4.0  # a piece this much smaller than the whole
CONVERTS = ("tensor", "as_tensor", "array", "asarray", "FloatTensor", "LongTensor", "Tensor")
READS = ("open", "read_text", "read_bytes", "read_csv", "load", "safe_load", "getline")
TAKES_OUT = ("item", "tolist")
NUMBER_OF_TEXT = (
    r"^(_?Py_dg_strtod|_?PyOS_ascii_strtod|PyOS_string_to_double|PyFloat_FromString|PyLong_From(String|UnicodeObject)"
    r"|_match_number_\w+)$"
)
PARSES = NUMBER_OF_TEXT + r"|^(scan_once_\w+|_parse_(array|object)_\w+|Reader_iternext|parse_process_char)$"
MOST_PARSED = 0.5  # of some time
NO_FACTS = FileFacts()
_PRODUCT = r"^aten::(mm|addmm|bmm|matmul|linear|einsum)$"
_VIEW = (
    r"^aten::(t|transpose|view|_unsafe_view|reshape|permute|expand|unsqueeze|squeeze|select|slice|narrow|unbind|alias"
    r"|detach|flatten|unflatten|lift_fresh|to|resolve_conj|resolve_neg|index)$"
)
_OVERHEAD = ("python", "dispatch", "autograd", "allocation", "copies", "gather", "native")


def signs_of(subject: Subject, claim: Mask, kind: str, role: str, place: Place) -> Signs:
    """All that is known of the time of these host samples."""
    facts = subject.facts_of(place.file, place.line)
    chain = _chain(subject, claim)
    names = _names(subject, place)
    # Beside the model a library that makes many calls for one line is no loop of the user's.
    visits = (
        facts.per_step
        if facts.visits and role == "after"
        else max(facts.per_step, _calls_per_step(subject, place))
    )
    share = float(subject.host.weight[claim].sum()) / subject.host.whole_ns
    unit_ns = subject.step_ns if subject.unit == "step" else _turn_ns(subject)
    called = _called_names(subject, place)
    return Signs(
        kind,
        role,
        grows=_grows(subject, claim)
        or any(subject.facts_of(*at).rising for at in chain)
        or _shapes_rise(subject, place),
        again=any(_again(subject, at, role) for at in chain),
        visits=visits,
        turn_ns=share * unit_ns / max(visits, 1.0),
        text=facts.text,
        cut=place.line in _text_of(subject, place).cut and cuts_down(subject, place),
        unused=place.line in _text_of(subject, place).unused and kind not in ("copies", "allocation"),
        converts=bool(called & set(CONVERTS)),
        reads=bool(called & set(READS)) and role in ("before", "loop"),
        builds=_builds(subject, claim),
        permutes="aten::randperm" in names,
        one_hot="aten::one_hot" in names and any(re.match(_PRODUCT, n) for n in names),
        numbers=bool(called & set(TAKES_OUT)),
        parses=_parses(subject, claim),
        told=role == "after" and _told(subject, claim),
        looks_up=place.line in _text_of(subject, place).looks_up,
        needed=role == "after" and not len(subject.steady_marks("phase", "optimizer")),
    )


def _parses(subject: Subject, claim: Mask) -> bool:
    """Whether most of the time is spent in making numbers and what holds them out of text."""
    weight = subject.host.weight
    parsing = subject.host_with(PARSES, layer="^native$") & claim
    return float(weight[parsing].sum()) >= MOST_PARSED * float(weight[claim].sum())


def _told(subject: Subject, claim: Mask) -> bool:
    """Whether the line of the loop that these samples belong to makes something only people read."""
    site = roles(subject).site[claim]
    if not (site >= 0).any():
        return False
    row = int(np.bincount(site[site >= 0], subject.host.weight[claim][site >= 0]).argmax())
    frames = subject.stacks.frames
    facts = subject.source_facts.get(frames.text("file")[row] or "", NO_FACTS)
    return int(frames.array("line")[row]) in facts.told


def _again(subject: Subject, at: tuple[str, int], role: str) -> bool:
    """Whether the line made what it had made before; a score after the update may stay the same by itself."""
    facts = subject.facts_of(*at)
    known = facts.again if role == "before" else comes_again(subject, facts)
    return known and (facts.large or role != "after")


def comes_again(subject: Subject, facts: LineFacts) -> bool:
    """Whether a line makes the same again, although what the program works on changes.

    A program that does not train may make the same because someone measures one input again and again.
    """
    if trains(subject):
        return facts.again
    return facts.again and facts.large and 0 < facts.distinct < inputs_seen(subject)


def inputs_seen(subject: Subject) -> int:
    """How many different inputs a window saw a model get; 0 when it is not known."""
    return max((facts.inputs for facts in subject.line_facts.values()), default=0)


def _builds(subject: Subject, claim: Mask) -> bool:
    """Whether most of the time is the construction of modules: their parameters are made and filled."""
    weight = subject.host.weight
    spent = float(weight[claim & subject.host_with(_INITIALISES, file=r"/torch/nn/modules/")].sum())
    spent = max(spent, float(weight[claim & subject.host_with(file=r"/torch/nn/init\.py$")].sum()))
    return spent >= MOST_BUILT * float(weight[claim].sum()) > 0


def trains(subject: Subject) -> bool:
    """Whether the steady steps have a backward pass."""
    return subject.unit == "step" and len(subject.steady_marks("phase", "backward")) > 0


def thrown_away(subject: Subject, place: Array) -> Mask:
    """Host samples of lines that keep a piece of what they make, or multiply by vectors that are nearly all zero."""
    found = np.zeros(len(place), np.bool_)
    for number, at in enumerate(subject.judged_stacks.places.all):
        if at.file and (place == number).any():
            names = _names(subject, at)
            cut = at.line in _text_of(subject, at).cut and cuts_down(subject, at)
            if cut or "aten::one_hot" in names:
                found |= place == number
    return found


def loops_at(subject: Subject, kind: Array, place: Array) -> Mask:
    """Host samples of overhead at lines that run many times in each step, with the same few calls."""
    found = np.zeros(len(place), np.bool_)
    overhead = np.isin(kind, [CODES[k] for k in _OVERHEAD])
    for number, at in enumerate(subject.judged_stacks.places.all):
        if subject.facts_of(at.file, at.line).per_step >= FEWEST_TURNS:
            found |= (place == number) & overhead
    return found


def _turn_ns(subject: Subject) -> float:
    return subject.outer_loop.period_ns if subject.outer_loop is not None else subject.step_ns


def _chain(subject: Subject, claim: Mask) -> list[tuple[str, int]]:
    """The user's lines on the stack with most of the claimed time, innermost first, without the loop's own frame."""
    host, index = subject.host, subject.stacks
    stack = host.stack[claim]
    known = stack >= 0
    if not known.any():
        return []
    at = int(np.bincount(stack[known], host.weight[claim][known]).argmax())
    found: list[tuple[str, int]] = []
    files, lines = index.frames.text("file"), index.frames.array("line")
    while at >= 0:
        frame = int(index.frame[at])
        if frame >= 0 and index.users_python[frame]:
            found.append((files[frame] or "", int(lines[frame])))
        at = int(index.parent[at])
    return found


def _text_of(subject: Subject, place: Place) -> FileFacts:
    return subject.source_facts.get(place.file, NO_FACTS)


def _called_names(subject: Subject, place: Place) -> set[str]:
    return {name for name, lines in _text_of(subject, place).calls.items() if place.line in lines}


def _rows(subject: Subject, place: Place) -> Array:
    """Operator calls that a line makes itself; none where none were recorded."""
    try:
        calls = subject.calls
    except NotEnough:
        return np.zeros(0, np.int64)
    ops = calls.ops
    return np.flatnonzero(
        (ops.array("line") == place.line) & ops.text("file").equals(place.file) & calls.main
    )


def _names(subject: Subject, place: Place) -> set[str]:
    rows = _rows(subject, place)
    return {n for n in subject.calls.ops.text("name").take(rows).tolist() if n} if len(rows) else set()


def cuts_down(subject: Subject, place: Place) -> bool:
    """Whether the line takes a piece out of what it has just made, which is several times as large."""
    rows = _rows(subject, place)
    if not len(rows):
        return False
    calls = subject.calls
    names = calls.ops.text("name")
    rows = rows[~calls.backward[rows]]
    if any(MIXING.search((names[row] or "").removeprefix("aten::")) for row in rows.tolist()):
        return False
    tops = np.flatnonzero(calls.main & (calls.parent < 0) & ~calls.backward)
    tops = tops[np.argsort(calls.ops.array("start_ns")[tops], kind="stable")]
    before = {int(b): int(a) for a, b in itertools.pairwise(tops.tolist())}
    for row in rows.tolist():
        piece = piece_of(calls, row)
        if piece is None or piece.kept * LEAST_CUT > piece.whole:
            continue
        maker = before.get(row, -1)
        while maker >= 0 and re.match(_VIEW, names[maker] or ""):
            maker = before.get(maker, -1)
        if maker >= 0 and calls.place(maker) == (place.file, place.line):
            return True
    return False


def _calls_per_step(subject: Subject, place: Place) -> float:
    """The most equal calls of a line in a step."""
    rows = _rows(subject, place)
    if not len(rows):
        return 0.0
    calls = subject.calls
    rows = rows[calls.parent[rows] < 0]
    if not len(rows):
        return 0.0
    ops = calls.ops
    keys = np.stack((ops.text("name").codes[rows], ops.text("shapes").codes[rows]), axis=1)
    _, counts = np.unique(keys, axis=0, return_counts=True)
    return float(counts.max()) / max(calls.steps, 1)


def _shapes_rise(subject: Subject, place: Place) -> bool:
    """Whether a call of the line gets a larger first tensor each time, and is made about once in a step."""
    rows = _rows(subject, place)
    calls = subject.calls if len(rows) >= 3 else None
    if calls is None or calls.steps < 3:  # layers of one step differ in size, forwards or backwards
        return False
    names = calls.ops.text("name").codes[rows]
    for code in np.unique(names).tolist():
        mine = rows[names == code]
        mine = mine[np.argsort(calls.ops.array("start_ns")[mine], kind="stable")]
        if not 3 <= len(mine) <= 3 * max(calls.steps, 1):
            continue
        sizes = [_largest(calls.shapes(row)) for row in mine.tolist()]
        if sizes[0] > 0 and all(b > a for a, b in itertools.pairwise(sizes)):
            return True
    return False


def _largest(shapes: list[object]) -> int:
    def size(shape: object) -> int:
        if not isinstance(shape, list) or not shape:
            return 0
        if all(isinstance(n, int) for n in shape):
            return int(np.prod(np.array(shape, np.float64)))
        return max((size(s) for s in shape), default=0)

    return max((size(s) for s in shapes), default=0)


def _grows(subject: Subject, claim: Mask) -> bool:
    """Whether the time of a step in it rises over the run: from fifth to fifth of the steady time, and much in all."""
    if subject.unit != "step" or int(claim.sum()) < FEWEST:
        return False
    host = subject.host
    time = host.samples.array("time_ns")
    first, last = int(subject.steady.starts[0]), int(subject.steady.ends[-1])
    edges = [first + (last - first) * n // PARTS for n in range(1, PARTS)]
    at = np.searchsorted(edges, time[claim], "right")
    spent = np.bincount(at, host.weight[claim], PARTS)
    steps = np.bincount(np.searchsorted(edges, subject.step_starts, "right"), minlength=PARTS)
    if (steps == 0).any():
        return False
    each = spent / steps
    rising = int((np.diff(each) > 0).sum()) >= PARTS - 1
    return bool(rising and each[0] > 0 and each[-1] > GROWS * each[0])
