"""`sonde diff`: the verdict, then where the difference is, as text, JSON or Markdown."""

from __future__ import annotations

import math
from typing import Any

from sonde.experiment.difference import DIMENSIONS, Difference, Row
from sonde.experiment.likeness import Likeness
from sonde.render.text.page import Column, Page
from sonde.render.text.units import milliseconds, size

TITLES = {
    "op": "operators", "shape": "operators and shapes", "module": "modules", "function": "your functions",
    "line": "your lines", "op line": "your lines, by the operators they cause", "kernel": "kernels and functions",
    "state": "thread states", "primitive": "primitives", "memory": "memory",
}  # fmt: skip
VERDICTS = {
    "faster": "B is faster", "slower": "B is slower", "same": "B is as fast as A", "inconclusive": "Inconclusive",
}  # fmt: skip
ROWS_SHOWN = 8


def data(found: Difference, alike: Likeness, names: tuple[list[str], list[str]]) -> dict[str, Any]:
    """Stable keys: verdict, ratio, low, high, noise_floor, a_ms, b_ms, unit, repetitions, rows, …

    `noise_floor` is the smallest relative difference that would have been seen. A row has dimension,
    name, source, measure, unit, a, b, difference, low, high, p, sure, note; null stands for "not known".
    """
    return {
        "verdict": found.word,
        "reason": found.reason,
        "ratio": _finite(found.ratio.estimate),
        "low": _finite(found.ratio.low) if math.isfinite(found.ratio.high) else None,
        "high": _finite(found.ratio.high),
        "noise_floor": _finite(found.detectable),
        "a_ms": found.a_ms,
        "b_ms": found.b_ms,
        "unit": found.unit,
        "stepless": found.stepless,
        "repetitions": {"kind": found.repetitions, "a": found.counts[0], "b": found.counts[1]},
        "a": names[0],
        "b": names[1],
        "unlike": alike.unlike,
        "changed": alike.changed,
        "rows": [_row(row) for row in found.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "dimension": row.dimension, "name": row.name, "source": row.source, "measure": row.measure,
        "unit": row.unit, "a": row.a, "b": row.b, "difference": row.difference, "low": _finite(row.low),
        "high": _finite(row.high), "p": row.p, "sure": row.sure, "note": row.note,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def show(data: dict[str, Any], page: Page, everything: bool = False, limit: int = ROWS_SHOWN) -> None:
    """Print it. `everything` also shows rows whose interval holds zero."""
    page.heading(headline(data))
    for line in notes(data):
        page.line(line)
    for dimension, source in _tables(data):
        mine = [r for r in data["rows"] if (r["dimension"], r["source"]) == (dimension, source)]
        rows = [r for r in mine if everything or r["sure"]]
        if not rows:
            continue
        page.line()
        per = f"{rows[0]['measure']} per {rows[0]['unit']}, {source}"
        rest = f"; not sure: {len(mine) - len(rows)} more" if len(mine) > len(rows) else ""
        page.heading(f"{TITLES[dimension]} ({per}{rest})")
        numbers = [Column(t, right=True) for t in ("A", "B", "change", "95 % interval")]
        page.table([Column(dimension, fold=True), *numbers, Column("")], [_cells(r) for r in rows[:limit]])
    if not any(r["sure"] for r in data["rows"]):
        page.line()
        page.line("No row differs surely (false discoveries held to 5 %). All rows: --all")


def _tables(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Dimension and source of each table: values of two sources do not add up."""
    found = {(r["dimension"], r["source"]) for r in data["rows"]}
    return sorted(found, key=lambda t: (DIMENSIONS.index(t[0]), t[1]))


def headline(data: dict[str, Any]) -> str:
    """One sentence: the verdict with its interval."""
    what = "a steady step" if data["unit"] == "step" else "the run"
    times = f"{what}: {milliseconds(data['a_ms'])} → {milliseconds(data['b_ms'])}"
    word = VERDICTS[data["verdict"]]
    if data["low"] is None or data["ratio"] is None:
        return f"{word}: {times}, ×{data['ratio']:.3f}, interval not known"
    return f"{word}: {times}, ×{data['ratio']:.3f} [{data['low']:.3f}, {data['high']:.3f}]"


def notes(data: dict[str, Any]) -> list[str]:
    """What the verdict rests on."""
    lines = []
    kind, a, b = (data["repetitions"][k] for k in ("kind", "a", "b"))
    floor = data["noise_floor"]
    seen = (
        f"the smallest difference it could have seen is {floor:.1%}" if floor is not None else data["reason"]
    )
    if kind == "recordings":
        lines.append(f"Intervals are across {a} and {b} recordings; {seen}.")
    elif kind == "blocks of steps":
        lines.append(
            f"Intervals are within one recording per side ({a} and {b} blocks of steps); they do not cover "
            f"differences from run to run: give several recordings per side (A… vs B…). {seen.capitalize()}."
        )
    if data["stepless"]:
        # Spans of steps may be absent on one side only: eager functions outside any module have none.
        told = "" if kind == "recordings" else f"; {seen}"
        lines.append(
            f"No steps in {data['stepless']}: values are of whole runs, start-up included{told}. "
            "Steps can be marked with sonde.step()."
        )
    if data["verdict"] in ("inconclusive", "same") and data["reason"] not in " ".join(lines):
        lines.append(data["reason"][:1].upper() + data["reason"][1:] + ".")
    lines += [f"Changed: {line}" for line in data["changed"]]
    lines += [f"Unlike (forced): {line}" for line in data["unlike"]]
    return lines


def markdown(data: dict[str, Any], limit: int = ROWS_SHOWN) -> str:
    """A summary for a pull request."""
    lines = [f"### {headline(data)}", ""]
    lines += [f"{note}  " for note in notes(data)]
    for dimension, source in _tables(data):
        mine = [r for r in data["rows"] if (r["dimension"], r["source"]) == (dimension, source)]
        rows = [r for r in mine if r["sure"]][:limit]
        if rows:
            title = f"{TITLES[dimension]} ({rows[0]['measure']} per {rows[0]['unit']}, {source})"
            lines += [
                "",
                f"| {title} | A | B | change | 95 % interval | |",
                "|---|--:|--:|--:|--:|---|",
            ]
            lines += ["| " + " | ".join(c.replace("|", "\\|") for c in _cells(r)) + " |" for r in rows]
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    show = milliseconds if row["measure"] == "ms" else size
    low, high = row["low"], row["high"]
    interval = "not known" if low is None else f"{_signed(low, show)} … {_signed(high, show)}"
    note = row["note"] or ("new" if row["a"] == 0 else "gone" if row["b"] == 0 else "")
    return (row["name"], show(row["a"]), show(row["b"]), _signed(row["difference"], show), interval, note)


def _signed(value: float, show: Any) -> str:
    return ("+" if value >= 0 else "−") + str(show(abs(value)))
