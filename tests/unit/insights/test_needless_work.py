"""Work that need not be done: pieces, growing work, costlier ways, unread gradients; and where it has to be done."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from sonde.insights.engine import judge
from sonde.insights.gradients import passes_of, thrown_away
from sonde.insights.pieces import piece_of
from sonde.insights.rules.host import costly_line, growing_work, piece_kept
from sonde.insights.rules.kernels import cheaper_algorithm
from sonde.insights.source_cuts import Cut, cuts_of
from sonde.insights.source_products import products_of
from sonde.insights.subject import Subject
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, GEMM, LOOP, MODEL, UPDATE, Spent, line, op
from tests.unit.insights.pairs.recordings import Call, made, with_text
from tests.unit.insights.pairs.work import PIECE, RAYS, growing

SCORES = Spent(8, 20, (line(5, "forward"), op("aten::addmm"), GEMM), "forward")


def said(recording: Recording, *rules: Any) -> list[tuple[str, str, int]]:
    report = judge(recording, rules)
    assert report.failed == {}
    return [(i.rule, i.way, i.line) for i in report.insights]


def cut_of(shape: list[int], dimension: str, name: str = "aten::addmm") -> Recording:
    """Of what line 5 makes one place is kept, along some dimension."""
    calls = [
        Call(name, 0, 8, 5, [[16000], [128, 128], [128, 16000]]),
        Call("aten::select", 8, 0.1, 5, [shape, [], []], inputs=["", dimension, "0"]),
    ]
    text = "\n\n\ndef forward(x):\n    return head(x)[:, 0]\n"
    return with_text(made(MODEL, SCORES, BACKWARD, UPDATE, calls=calls), text)


def test_a_cut_of_a_large_dimension_is_a_card_and_says_what_is_kept() -> None:
    report = judge(cut_of([4, 128, 16000], "1"), (costly_line.RULE,))
    (card,) = report.insights
    assert (card.way, card.line) == ("not at all", 5)
    assert "a small piece of what is made here is kept" in card.why
    assert "depends" not in card.why


@pytest.mark.parametrize(
    ("shape", "dimension", "name"),
    [
        ([4, 1, 768, 64], "1", "aten::addmm"),  # a dimension of one place: all of it is kept
        ([4, 2, 768, 64], "-3", "aten::addmm"),
        ([4, 128, 16000], "1", "aten::lstm"),  # the last place needs all before it
        ([4, 128, 16000], "", "aten::addmm"),  # nobody knows which dimension
    ],
)
def test_what_keeps_most_or_needs_all_is_no_cut(shape: list[int], dimension: str, name: str) -> None:
    assert said(cut_of(shape, dimension, name), costly_line.RULE) == []


@pytest.mark.parametrize(
    ("name", "shapes", "inputs", "kept"),
    [
        ("aten::select", [[4, 8, 16], [], []], ["", "-1", "3"], 32),
        ("aten::slice", [[4, 8, 16], [], [], [], []], ["", "1", "2", "9223372036854775807", "2"], 192),
        ("aten::slice", [[4, 8, 16], [], [], [], []], ["", "1", "-3", "9223372036854775807", "1"], 192),
        ("aten::narrow", [[4, 8, 16], [], [], []], ["", "0", "1", "2"], 256),
        ("aten::index_select", [[4, 8, 16], [], [6]], ["", "1", ""], 384),
        ("aten::gather", [[4, 8], [], [4, 1], []], ["", "1", "", "False"], 4),
        ("aten::index", [[4, 8, 16], []], ["", ""], 20),
        ("aten::mul", [[4, 8]], [""], None),
        ("aten::slice", [[4, 8], [], [], [], []], ["", "7", "0", "1", "1"], None),
    ],
)
def test_what_a_call_keeps_follows_from_its_numbers(
    name: str, shapes: list[Any], inputs: list[str], kept: int | None
) -> None:
    calls = [Call(name, 0, 1, shapes=shapes, inputs=inputs, dtypes=["float"], memory=80)]
    piece = piece_of(Subject(made(MODEL, calls=calls)).calls, 0)
    assert (piece.kept if piece else None) == kept


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("def f(y):\n    x = g(y)\n    return x[0]\n", [Cut(2, (3,), False, True)]),
        ("def f(y):\n    a, b = g(y)\n    return a[i], b[i]\n", [Cut(2, (3,), False, True, 2)]),
        ("def f(x):\n    for b in c:\n        x = b(x)\n    return x[:, 0]\n", [Cut(3, (4,), True, False)]),
        ("def f(y):\n    a, b = g(y)\n    return a[i], b\n", []),  # one of them is read whole
        ("def f(y):\n    x = g(y)\n    h(x)\n    return x[0]\n", []),
        ("def f(y):\n    x = g(y)\n    return x['a']\n", []),
        ("def f(y):\n    x = g(y)\n    return x[0], z[1]\n", []),  # which of the two was cut, no call tells
        ("def f(y):\n    x = g(y)\n    def h():\n        return x\n    return x[0]\n", []),
        ("def f(y):\n    x = g(y)\n    x[0] = 1\n    return x[0]\n", []),
        ("def f(y):\n    x = [1]\n    return x[0]\n", []),
    ],
)
def test_the_text_tells_which_values_are_only_read_in_pieces(text: str, cuts: list[Cut]) -> None:
    assert list(cuts_of(ast.parse(text))) == cuts


@pytest.mark.parametrize("name", ["aten::cumsum", "aten::_softmax", "aten::convolution"])
def test_rows_that_need_each_other_are_no_needless_piece(name: str) -> None:
    calls = [
        Call(name, 0, 8, 5, [[1000, 64], []]),
        Call("aten::select", 9, 0.1, 6, [[1000, 64], [], []], inputs=["", "0", "0"]),
    ]
    assert said(with_text(made(RAYS, MODEL, UPDATE, calls=calls), PIECE), piece_kept.RULE) == []


@pytest.mark.parametrize(("along", "speaks"), [("[-1]", True), ("[0]", False)])
def test_a_sum_along_the_cut_needs_all_of_it(along: str, speaks: bool) -> None:
    calls = [
        Call(
            "aten::linalg_vector_norm",
            0,
            8,
            5,
            [[1000, 64], [], [], [], []],
            inputs=["", "2", along, "True", ""],
        ),
        Call("aten::select", 9, 0.1, 6, [[1000, 64], [], []], inputs=["", "0", "0"]),
    ]
    found = said(with_text(made(RAYS, MODEL, UPDATE, calls=calls), PIECE), piece_kept.RULE)
    assert found == ([("piece_kept", "not at all", 5)] if speaks else [])


def test_pieces_that_together_are_all_are_no_waste() -> None:
    calls = [Call("aten::mul", 0, 8, 5, [[8, 64], []])]
    calls += [
        Call("aten::select", 9 + n, 0.1, 6, [[8, 64], [], []], inputs=["", "0", str(n)]) for n in range(8)
    ]
    assert said(with_text(made(RAYS, MODEL, UPDATE, calls=calls), PIECE), piece_kept.RULE) == []


def generation(first: Any, append: bool = True) -> Recording:
    """A model's product in line 5 on so many rows; what it makes is appended in line 6."""
    calls = [Call("aten::addmm", 0, 8, 5, lambda step: [[64], [first(step), 32], [32, 64]])]
    if append:
        calls.append(Call("aten::cat", 9, 0.1, 6, lambda step: [[[4, first(step)], [4, 1]], []]))
    model = Spent(9, 20, (line(5, "complete"), op("aten::addmm"), GEMM), "forward")
    return made(model, calls=calls)


def test_a_model_that_gets_all_that_it_wrote_works_again_on_what_came_before() -> None:
    assert said(generation(lambda step: 100 + step), growing_work.RULE) == [
        ("growing_work", "incrementally", 5)
    ]


@pytest.mark.parametrize(
    "recording",
    [
        generation(lambda step: 100),
        generation(lambda step: (100, 103, 101, 160)[step % 4]),  # lengths that vary
        generation(lambda step: 100 + step, append=False),  # batches sorted by length
        growing(5),  # not what the step before made
    ],
)
def test_lengths_that_vary_or_stay_are_no_growing_work(recording: Recording) -> None:
    assert said(recording, growing_work.RULE) == []


def test_attention_of_one_query_to_kept_keys_is_the_cache_and_not_its_lack() -> None:
    calls = [
        Call("aten::scaled_dot_product_attention", 0, 8, 5, lambda n: [[4, 8, 1, 32], [4, 8, 100 + n, 32]]),
        Call("aten::cat", 9, 0.1, 6, lambda n: [[[4, 100 + n], [4, 1]], []]),
    ]
    model = Spent(9, 20, (line(5, "complete"), op("aten::scaled_dot_product_attention"), GEMM), "forward")
    assert said(made(model, calls=calls), growing_work.RULE) == []


@pytest.mark.parametrize(
    ("data", "length", "speaks"), [(29946, 30011, True), (29946, 30240, False), (30011, 30011, False)]
)
def test_a_padded_length_with_a_large_prime_factor_is_a_slow_transform(
    data: int, length: int, speaks: bool
) -> None:
    calls = [
        Call("aten::fft_rfft", 0, 9, 5, [[4, data], [], [], []], inputs=["", str(length), "-1", ""]),
        Call("aten::_fft_r2c", 0.1, 8.5, 5, [[4, length], [], [], []], inputs=["", "[1]", "0", "True"]),
    ]
    transform = Spent(9, 20, (line(5, "forward"), op("aten::_fft_r2c"), GEMM), "forward")
    found = said(made(transform, UPDATE, calls=calls), cheaper_algorithm.RULE)
    assert found == ([("cheaper_algorithm", "in another format", 5)] if speaks else [])


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("def f(x):\n    u = (a @ b) * s\n    return x @ u\n", ((2, 3),)),
        ("def f(x):\n    return (a @ b.T) @ x\n", ((2, 2),)),
        ("def f(x):\n    u = torch.mm(a, b)\n    return torch.mm(x, u.T)\n", ((2, 3),)),
        ("def f(x):\n    u = relu(a @ b)\n    return x @ u\n", ()),
        ("def f(x):\n    u = w + a @ b\n    return x @ u\n", ()),
        ("def f(x):\n    u = a @ b\n    return x @ u + u.sum()\n", ()),
    ],
)
def test_the_text_tells_which_product_goes_into_another(
    text: str, pairs: tuple[tuple[int, int], ...]
) -> None:
    assert products_of(ast.parse(text)) == pairs


@pytest.mark.parametrize(
    ("rank", "rows", "mask", "speaks"),
    [
        (64, 64, [], True),
        (1024, 1024, [], False),  # the other order has as much work
        (64, 64, [1024, 1024], False),  # a mask between them: no other order gives the same
    ],
)
def test_a_product_in_the_costlier_order(rank: int, rows: int, mask: list[int], speaks: bool) -> None:
    calls = [
        Call("aten::mm", 0, 5, 5, [[1024, rank], [rank, 1024]]),
        Call("aten::mul", 5, 0.5, 5, [[1024, 1024], mask]),
        Call("aten::mm", 6, 3, 6, [[rows, 1024], [1024, 1024]]),
    ]
    products = Spent(9, 20, (line(5, "forward"), op("aten::mm"), GEMM), "forward")
    text = "\n\n\ndef forward(x):\n    u = (a @ b) * s\n    return x @ u\n"
    found = said(with_text(made(products, UPDATE, calls=calls), text), cheaper_algorithm.RULE)
    assert found == ([("cheaper_algorithm", "in another format", 5)] if speaks else [])


def passes(*events: str) -> dict[frozenset[tuple[int, ...]], set[tuple[int, ...]]]:
    """`a`, `b`: a gradient of that tensor begun anew; `+a`: added to; `A`: an optimizer updates it; `|`: forward."""
    shapes = {"a": [3, 3], "b": [5, 5]}
    calls, at = [], 0.0
    for event in events:
        if event == "|":
            calls.append(Call("aten::mm", at, 0.1, shapes=[[7, 7]]))
        elif event.isupper():
            calls.append(Call("Optimizer.step#SGD.step", at, 0.4))
            calls.append(Call("aten::add_", at + 0.1, 0.1, shapes=[shapes[event.lower()]] * 2))
        else:
            name, tensor = "torch::autograd::AccumulateGrad", [shapes[event[-1]]]
            calls.append(Call(name, at, 0.4, shapes=tensor, kind="backward"))
            if event[0] == "+":
                calls.append(Call("aten::add_", at + 0.1, 0.1, shapes=tensor * 2, kind="backward"))
        at += 0.5
    recording = made(Spent(20, 20, (op("aten::mm"), LOOP), "forward"), calls=calls)
    ops = recording.table("ops")
    first = np.sort(recording.table("ops").array("start_ns"))[: len(calls)]
    windows = recording.table("marks")
    windows = windows.take(np.flatnonzero(windows.text("kind").equals("window")))
    ops = ops.take(np.flatnonzero(ops.array("start_ns") <= first[-1]))
    return thrown_away(passes_of(ops, windows))


A, B = (3, 3), (5, 5)


@pytest.mark.parametrize(
    ("events", "lost"),
    [
        (("a", "b", "A", "|", "a", "b", "A"), {frozenset({A, B}): {B}}),  # a backbone that nobody trains
        (("a", "b", "A", "B", "|", "a", "b", "A", "B"), {}),
        (("a", "|", "+a", "|", "+a", "A"), {}),  # accumulated over three passes
        # A generator's gradients of the discriminator's pass: dropped before its own pass begins.
        (("b", "B", "|", "a", "+b", "A", "|", "a", "+b", "A"), {frozenset({A, B}): {B}}),
        # A part that is updated more rarely, from all that was added to it.
        (("a", "b", "A", "|", "a", "+b", "A", "B", "|", "a", "b", "A"), {}),
    ],
)
def test_gradients_are_thrown_away_when_begun_anew_unread(
    events: tuple[str, ...], lost: dict[frozenset[tuple[int, ...]], set[tuple[int, ...]]]
) -> None:
    assert passes(*events) == lost
