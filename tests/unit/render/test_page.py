"""Text for people: units, bars, and names that must not steer a terminal."""

from __future__ import annotations

import io
from typing import get_args

import pytest

from sonde.render.text.cell_width import cell_len, cut
from sonde.render.text.page import STYLES, Column, Page, Style, bar, sparkline
from sonde.render.text.units import milliseconds, percent, size


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0"), (0.00123, "1.23 µs"), (0.9996, "1.00 ms"), (12.34, "12.3 ms"), (999.4, "999 ms"),
     (999.6, "1.00 s"), (123456, "123 s"), (1234567, "1,235 s"), (float("nan"), "–"), (-5, "-5.00 ms")],
)  # fmt: skip
def test_milliseconds_keep_three_digits(ms: float, text: str) -> None:
    assert milliseconds(ms) == text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KiB"), (-(1 << 30), "-1.00 GiB")]
)
def test_sizes(n: float, text: str) -> None:
    assert size(n) == text


def test_tiny_shares_are_not_zero() -> None:
    assert [percent(x) for x in (0, 0.0001, 0.001, 0.5, 1)] == [
        "0.0 %",
        "<0.1 %",
        "0.1 %",
        "50.0 %",
        "100.0 %",
    ]


def test_bar_and_sparkline() -> None:
    assert bar(0.5, 4) == "██  "
    assert bar(1 / 32, 4) == "▏   "
    assert bar(2, 2) == "██"
    assert sparkline([0, 1, 7], 3) == "▁▂█"
    assert len(sparkline(list(range(1000)), 50)) == 50
    assert sparkline([]) == ""


def test_names_cannot_steer_the_terminal() -> None:
    stream = io.StringIO()
    page = Page(stream)
    page.line("a\x1b[31m[bold]b")
    page.table([Column("n")], [["x\x07[/bold]y"]])
    assert "\x1b" not in stream.getvalue()
    assert "[bold]b" in stream.getvalue()
    assert "[/bold]y" in stream.getvalue()


def test_tables_in_a_pipe_are_never_cut() -> None:
    stream = io.StringIO()
    Page(stream).table([Column("name", fold=True), Column("n", right=True)], [["x" * 3000, 1]])
    assert "x" * 3000 in stream.getvalue()


def test_columns_that_can_be_spared_leave_a_narrow_terminal_first() -> None:
    columns = [
        Column("Name", fold=True),
        Column("Self", right=True),
        Column("Share of it", right=True, spare=2),
    ]
    columns.append(Column("Memory", right=True, spare=1))
    rows = [["a_rather_long_operator_name_" * 2, "1", "2", "3"]]
    seen = {}
    for width in (80, 52, 40):
        stream = io.StringIO()
        Page(stream, width=width).table(columns, rows)
        seen[width] = stream.getvalue().splitlines()[0].split()
    assert seen[80] == ["Name", "Self", "Share", "of", "it", "Memory"]
    assert seen[52] == ["Name", "Self", "Memory"]
    assert seen[40] == ["Name", "Self"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colour_unless_it_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for value, styled in ((None, True), ("", True), ("1", False)):
        if value is None:
            monkeypatch.delenv("NO_COLOR", raising=False)
        else:
            monkeypatch.setenv("NO_COLOR", value)
        stream = Terminal()
        page = Page(stream, width=40)
        page.heading("Head")
        page.table([Column("name"), Column("n", right=True)], [["a", 1]])
        assert ("\x1b[1mHead\x1b[0m" in stream.getvalue()) == styled
        assert ("\x1b" in stream.getvalue()) == styled


def test_every_style_has_a_code() -> None:
    assert set(STYLES) == set(get_args(Style))  # mypy holds callers to these names
    stream = Terminal()
    page = Page(stream, width=40)
    for style in get_args(Style):
        page.line("x", style=style)
    assert stream.getvalue().count("x") == len(STYLES)


def test_a_terminal_wraps_between_words_and_keeps_the_indent() -> None:
    stream = Terminal()
    Page(stream, width=20).line("  one two three four five six")
    assert stream.getvalue() == "  one two three four\n  five six\n"


def test_wide_characters_take_two_columns_and_are_not_cut_in_half() -> None:
    stream = io.StringIO()
    Page(stream).table([Column("name"), Column("n", right=True)], [["日本", 1], ["abcd", 22]])
    assert stream.getvalue().splitlines() == ["name   n", "日本   1", "abcd  22"]
    assert cut("日本語", 3) == "日 "
    assert cell_len("e\u0301") == 1
