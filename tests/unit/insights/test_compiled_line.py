"""A compiled function of torch's own: the card names the line that called it."""

from __future__ import annotations

from sonde.insights.engine import judge
from tests.unit.insights.made_loop import FILE
from tests.unit.insights.pairs.host import compiled, model

LIBRARY = {"file": "/x/site-packages/torch/_dynamo/external_utils.py", "line": 67}


def test_a_recompiled_library_function_is_told_by_the_line_that_called_it() -> None:
    extra = {"recompile_reason": "size mismatch", **LIBRARY}
    card = next(
        c
        for c in judge(model(marks=compiled(extra, extra, extra, name="inner"))).insights
        if c.rule == "recompiles"
    )
    assert card.file == FILE
    assert card.line > 0


def test_a_recompiled_function_of_the_program_keeps_its_own_line() -> None:
    extra = {"recompile_reason": "size mismatch", "file": "/home/u/net.py", "line": 7}
    card = next(
        c for c in judge(model(marks=compiled(extra, extra, extra))).insights if c.rule == "recompiles"
    )
    assert (card.file, card.line) == ("/home/u/net.py", 7)
