"""What `sonde top` shows, as text: the head of the screen, and the rows of each table.

Enters: pictures of a job (`sonde.live.picture`). Leaves: lines and cells that fit a width. Nothing here knows a
terminal.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from sonde.live.picture import Picture, Row
from sonde.render.text.page import bar, sparkline
from sonde.render.text.units import milliseconds, percent, size

TABLES = ("lines", "operators", "functions", "modules", "threads", "processes")
SORTS = ("time", "trend", "name")
STATE_WORDS = {
    "running": "running",
    "spinning": "busy-waiting",
    "imbalance": "waiting for slower threads",
}
TREND_PICTURES = 12
TAKEN_MATTERS = 0.10


@dataclass
class Trends:
    """Shares of every row in the last pictures, by table and name."""

    _shares: dict[tuple[str, str], deque[float]] = field(default_factory=dict)

    def add(self, picture: Picture) -> None:
        """Rows that are gone fall to zero, and are forgotten when they were there for a long time at zero."""
        seen = {
            (table, row.name): row.share
            for table in TABLES[:-1]
            for row in getattr(picture, table)
            if row.share > 0
        }
        for key in {*self._shares, *seen}:
            shares = self._shares.setdefault(key, deque(maxlen=TREND_PICTURES))
            shares.append(seen.get(key, 0.0))
            if not any(shares):
                del self._shares[key]

    def of(self, table: str, name: str) -> list[float]:
        return list(self._shares.get((table, name), ()))

    def change(self, table: str, name: str) -> float:
        """Now against the mean of before."""
        shares = self.of(table, name)
        return shares[-1] - sum(shares[:-1]) / len(shares[:-1]) if len(shares) > 1 else 0.0


def head(picture: Picture, width: int, own_share: float) -> list[str]:
    """The lines above the table: the job, its steps, where its CPU time goes."""
    cores = picture.cpu_ns / 1e9 / picture.seconds
    ranks = sorted(one.rank for one in picture.processes if one.rank >= 0)
    of_ranks = f", {len(ranks)} ranks" if len(ranks) > 1 else ""
    processes = (
        f"{len(picture.processes)} processes"
        if len(picture.processes) != 1
        else f"pid {picture.processes[0].pid}"
    )
    lines = [
        f"{picture.program}  {processes}{of_ranks}  {cores:.2f} CPUs busy in the last {picture.seconds:.0f} s"
        f"  (sonde top: {percent(own_share)} of a CPU)"
    ]
    if picture.taken_share >= TAKEN_MATTERS:
        lines.append(f"Machine busy: ready, but off the CPU {percent(picture.taken_share)} of the time")
    lines += [_steps(picture, width)]
    states = [
        f"{STATE_WORDS[name]} {percent(share)}" for name, share in picture.states.items() if share >= 0.005
    ]
    lost = f", lost samples {picture.lost_samples}" if picture.lost_samples else ""
    lines.append(f"CPU time: {', '.join(states) or 'none'} ({picture.samples} samples{lost})")
    return [line[:width] for line in lines]


def _steps(picture: Picture, width: int) -> str:
    if not picture.steps:
        return "Steps: none in this interval"
    main = max(picture.steps, key=lambda one: one.count)
    text = (
        f"Step {milliseconds(main.median_ms)} (p90 {milliseconds(main.p90_ms)}), "
        f"{main.per_second:.3g} steps/s, #{main.last_number} "
    )
    return text + sparkline(main.history_ms, max(min(width - len(text), 60), 0))


def columns(table: str) -> tuple[str, ...]:
    """Titles."""
    if table == "processes":
        return ("pid", "rank", "role", "CPUs", "memory", "step", "steps/s", "command")
    return ("CPU", "", "trend", "change", _TITLES[table])


def widths(table: str) -> tuple[int | None, ...]:
    """Of the columns; None: as wide as its text."""
    return (None,) * 8 if table == "processes" else (7, 8, TREND_PICTURES, 6, None)


_TITLES = {
    "lines": "your lines, with everything they call",
    "operators": "operator (time in itself)",
    "functions": "function or kernel (time in itself)",
    "modules": "module, with everything it calls",
    "threads": "thread",
}


def rows(
    picture: Picture, table: str, trends: Trends, sort: str, wanted: str
) -> list[tuple[str, tuple[str, ...]]]:
    """Name and cells of each row that contains `wanted`, in the order of `sort`."""
    if table == "processes":
        return [
            (str(cells[0]), cells)
            for cells in _processes(picture)
            if wanted.lower() in " ".join(cells).lower()
        ]
    found: list[Row] = [row for row in getattr(picture, table) if wanted.lower() in row.name.lower()]
    if sort == "trend":
        found.sort(key=lambda row: -abs(trends.change(table, row.name)))
    elif sort == "name":
        found.sort(key=lambda row: row.name)
    return [(row.name, _cells(row, table, trends)) for row in found]


def _cells(row: Row, table: str, trends: Trends) -> tuple[str, ...]:
    change = trends.change(table, row.name)
    moved = f"{change * 100:+.1f}" if abs(change) >= 0.0005 else ""
    return (
        percent(row.share),
        bar(row.share, 8),
        sparkline(trends.of(table, row.name), TREND_PICTURES),
        moved,
        row.name,
    )


def _processes(picture: Picture) -> list[tuple[str, ...]]:
    return [
        (
            str(one.pid),
            str(one.rank) if one.rank >= 0 else "–",
            one.role,
            f"{one.cores:.2f}",
            size(one.rss_bytes) if one.rss_bytes >= 0 else "–",
            milliseconds(one.step_ms) if one.step_ms is not None else "–",
            f"{one.steps_per_second:.3g}" if one.steps_per_second is not None else "–",
            one.command,
        )
        for one in picture.processes
    ]


def plain(picture: Picture, width: int, most: int = 10) -> list[str]:
    """One picture as a page of text, for `--once`."""
    lines = head(picture, width, float("nan"))
    lines[0] = lines[0].rpartition("  (")[0]
    trends = Trends()
    for table in TABLES[:-1]:
        shown = rows(picture, table, trends, "time", "")[:most]
        if shown:
            lines += ["", _TITLES[table]]
            lines += [f"  {cells[0]:>7} {cells[1]:<8} {name}"[:width] for name, cells in shown]
    return lines
