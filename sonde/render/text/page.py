"""The sheet that text views write on: tables, headings and bars for people.

Colour and width follow the terminal; into a pipe or file goes plain text of any
width, so that nothing is cut where a program reads it. NO_COLOR is honoured.

Written by hand: a library for terminals takes longer to import and to print with than most answers take to make.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from sonde.render.text.cell_width import cell_len, cut

BLOCKS = " ▏▎▍▌▋▊▉█"
SPARKS = "▁▂▃▄▅▆▇█"
UNBOUNDED_COLUMNS = 100_000
FOLDED_COLUMNS = 16  # what a column that may be cut keeps at least
READABLE_COLUMNS = 30  # below this, columns that can be spared go first
GAP_COLUMNS = 2
Style = Literal["bold", "red", "green", "yellow", "cyan"]
STYLES: dict[Style, str] = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PLAIN_TERMINALS = ("dumb", "unknown")


@dataclass(frozen=True)
class Column:
    """A column of a printed table. `right` aligns numbers; `fold` may be cut to fit a terminal.

    A column with `spare` above 0 is left out of a terminal that is too narrow, the largest first.
    """

    title: str
    right: bool = False
    fold: bool = False
    spare: int = 0


class Page:
    """Where a view prints. One per command."""

    def __init__(self, stream: TextIO | None = None, width: int | None = None) -> None:
        self.stream = stream or sys.stdout
        self.interactive = self.stream.isatty()
        if width is None:
            width = shutil.get_terminal_size().columns if self.interactive else UNBOUNDED_COLUMNS
        self.width = width
        self.coloured = (
            self.interactive
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") not in _PLAIN_TERMINALS
        )

    def line(self, text: str = "", style: Style | None = None) -> None:
        """One line of plain text; in a terminal it is wrapped between words."""
        text = _printable(text)
        if self.interactive and cell_len(text) > self.width:
            import textwrap

            indent = text[: len(text) - len(text.lstrip())]
            text = "\n".join(
                textwrap.wrap(text, max(self.width, 1), subsequent_indent=indent[:8], break_on_hyphens=False)
            )
        self.stream.write(self._styled(text, style) + "\n")

    def _styled(self, text: str, style: Style | None) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and self.coloured and text else text

    def heading(self, text: str) -> None:
        self.line(text, style="bold")

    def next(self, *commands: str) -> None:
        """The commands to type next, as memorable as possible."""
        if self.interactive:
            self.line()
            for command in commands:
                self.line(f"  {command}", style="cyan")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
        """An aligned table. Cells are text already formatted, or numbers shown as they are."""
        width = self.width - 2 * self.interactive
        cells = [[_printable("" if cell is None else str(cell)) for cell in row] for row in rows]
        columns, cells = _without_spare(columns, cells, width)
        cells = _fitted(columns, cells, width)
        widths = _widths(columns, cells)
        edge = " " if self.interactive else ""
        lines = [_aligned(columns, widths, row) for row in cells]
        head = self._styled(_aligned(columns, widths, [column.title for column in columns]), "bold")
        if self.interactive:
            rule = "─" * (sum(widths) + GAP_COLUMNS * (len(widths) - 1))
            lines = ["", edge + head, edge + rule, *(edge + line for line in lines), ""]
        else:
            lines = [head, *lines]
        self.stream.write("\n".join(lines) + "\n")


def _aligned(columns: Sequence[Column], widths: Sequence[int], cells: Sequence[str]) -> str:
    padded = []
    for column, width, cell in zip(columns, widths, cells, strict=True):
        blanks = " " * (width - cell_len(cell))
        padded.append(blanks + cell if column.right else cell + blanks)
    return (" " * GAP_COLUMNS).join(padded)


def _without_spare(
    columns: Sequence[Column], rows: list[list[str]], width: int
) -> tuple[Sequence[Column], list[list[str]]]:
    """Leave out columns that can be spared until names need not be cut below what can be read."""
    widest = _widths(columns, rows)
    least = [
        min(w, READABLE_COLUMNS) if column.fold else w for w, column in zip(widest, columns, strict=True)
    ]
    kept = list(range(len(columns)))
    for i in sorted(kept, key=lambda index: -columns[index].spare):
        if columns[i].spare == 0 or sum(least[k] + GAP_COLUMNS for k in kept) <= width:
            break
        kept.remove(i)
    return [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]


def _widths(columns: Sequence[Column], rows: list[list[str]]) -> list[int]:
    return [
        max([cell_len(column.title), *(cell_len(row[i]) for row in rows)]) for i, column in enumerate(columns)
    ]


def _fitted(columns: Sequence[Column], rows: list[list[str]], width: int) -> list[list[str]]:
    """Cut the columns that may be cut, so that the table fits; a number is never cut."""
    widest = _widths(columns, rows)
    excess = sum(widest) + GAP_COLUMNS * len(columns) - width
    foldable = [i for i, column in enumerate(columns) if column.fold]
    for i in sorted(foldable, key=lambda index: -widest[index]):
        surplus = min(max(excess, 0), max(0, widest[i] - FOLDED_COLUMNS))
        if surplus:
            limit = widest[i] - surplus
            for row in rows:
                if cell_len(row[i]) > limit:
                    row[i] = cut(row[i], limit - 1) + "…"
            excess -= surplus
    return rows


def bar(share: float, width: int = 20) -> str:
    """A horizontal bar for a share of 0..1, in eighths of a cell."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return (BLOCKS[8] * full + (BLOCKS[rest] if rest else "")).ljust(width)


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """A small chart of a series; longer series show the largest value of each stretch."""
    if not values:
        return ""
    count = min(width, len(values))
    edges = [round(i * len(values) / count) for i in range(count + 1)]
    peaks = [max(values[a:b]) for a, b in itertools.pairwise(edges)]
    low, high = min(0.0, *peaks), max(peaks)
    span = (high - low) or 1.0
    return "".join(SPARKS[min(7, int((p - low) / span * 8))] for p in peaks)


def _printable(text: str) -> str:
    """Control characters in names must not steer the user's terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else "�" for c in text)
