"""What a window learns of lines: visits, equal values, text, padding; and the loop of a program without steps."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np
import torch

from sonde.record.frameworks.torch.inside.values import padded_share, stored_names
from sonde.record.inside.loops import ENOUGH_VISITS, INNER_NS, LEAST_NS, Loops
from tests.unit.record.line_trace import traced_steps


def traced(step: Any, steps: int = 3) -> dict[int, dict[str, Any]]:
    """Facts by line, counted from the function's first line."""
    trace = traced_steps(step, steps)
    first = step.__code__.co_firstlineno
    return {line - first: facts for file, line, facts in trace.rows() if file == __file__}


def test_values_that_never_change_are_told_from_those_that_do() -> None:
    fixed = torch.arange(100.0)

    def step(number: int) -> None:
        same = fixed * 2
        other = fixed + number
        array = np.full(200, 3.0)
        for _ in range(20):
            same = same + 0
        assert len(other) + len(array) == 300

    facts = traced(step)
    assert (facts[1]["seen"], facts[1]["distinct"], facts[1]["large"]) == (3, 1, True)
    assert (facts[2]["seen"], facts[2]["distinct"]) == (3, 3)
    assert facts[3]["distinct"] == 1
    assert facts[5]["visits"] == [20, 20, 20]


def test_a_change_in_the_middle_of_a_large_tensor_is_seen_in_a_view_as_well() -> None:
    def step(number: int) -> None:
        whole = torch.zeros(64, 64)
        whole[:, 32:] = number
        turned = whole.t()
        assert turned.shape == whole.shape

    facts = traced(step)
    assert facts[1]["distinct"] == 1
    assert facts[3]["distinct"] == 3


def test_text_is_told_and_what_cannot_be_read_is_not_called_equal() -> None:
    def step(number: int) -> None:
        words = [str(number), "b"]
        thing = object()
        assert words != [thing]

    facts = traced(step)
    assert facts[1]["text"] is True
    assert 2 not in facts


def test_a_module_called_twice_with_one_input_and_padded_ids_are_noted() -> None:
    layer, table = torch.nn.Linear(8, 8), torch.nn.Embedding(10, 4)
    x = torch.randn(2, 8)
    ids = torch.tensor([[1, 2, 3, 0, 0, 0, 0, 0], [4, 5, 6, 7, 0, 0, 0, 0]])

    def step(number: int) -> None:
        layer(x)
        layer(x)
        layer(x + number + 1)
        table(ids)

    facts = traced(step)
    assert facts[1]["twice"] == facts[2]["twice"] == 3
    assert facts[4]["padded"] == round(9 / 16, 3)


def test_rows_of_one_value_and_runs_of_different_values_are_no_padding() -> None:
    assert padded_share([b"\0\0\0\0", b"\1\2\3\4"], 1) == 0
    assert padded_share([b"\1\2\0\0", b"\1\2\3\3"], 1) == 0
    assert padded_share([b"\1\2\0\0", b"\1\0\0\0"], 1) == 5 / 8


def test_names_are_found_by_the_line_that_assigns_them() -> None:
    code = compile("a = 1\nb, c = a, 2\nprint(a)\n", "x.py", "exec")
    assert stored_names(code) == {1: ("a",), 2: ("b", "c")}


def frame() -> FrameType:
    return sys._getframe()


def test_the_outermost_frame_that_turns_is_the_loop_and_its_rarest_line() -> None:
    outer, inner = frame(), frame()
    loops = Loops([outer, inner], 0)
    now = 0
    for _ in range(ENOUGH_VISITS - 1):
        for _ in range(10):
            now += 1_000_000
            assert not loops.line(inner, 5, now)
        assert not loops.line(outer, 20, now)
        assert not loops.line(outer, 21, now)
    assert loops.line(outer, 20, max(now, LEAST_NS) + 1)
    found = loops.outermost()
    assert found is not None
    assert found[:3] == (outer, 21, 10_000_000)


def test_a_loop_in_an_inner_frame_waits_for_one_around_it_and_then_counts() -> None:
    outer, inner = frame(), frame()
    loops = Loops([outer, inner], 0)
    assert not any(loops.line(inner, 5, n) for n in range(20))
    assert loops.line(inner, 5, INNER_NS + 1)
    found = loops.outermost()
    assert found is not None
    assert found[0] is inner


def test_lines_that_run_twice_are_no_loop() -> None:
    loops = Loops([frame()], 0)
    loops.line(loops.frames[0], 5, 1)
    loops.line(loops.frames[0], 5, 2)
    assert loops.outermost() is None
