"""`sonde diff`: the verdict, then where the difference is, as text, JSON or Markdown."""

from __future__ import annotations

import math
from typing import Any

from sonde.compare.difference import Difference
from sonde.compare.likeness import Likeness
from sonde.compare.rows import DIMENSIONS, Row
from sonde.render.text.page import Column, Page
from sonde.render.text.units import milliseconds, size
from sonde.statistics.scatter import PRIOR

TITLES = {
    "op": "operators", "shape": "operators and shapes", "module": "modules", "function": "your functions",
    "line": "your lines", "op line": "your lines, by the operators they cause", "kernel": "kernels and functions",
    "state": "thread states", "primitive": "primitives", "memory": "memory",
}  # fmt: skip
ROWS_SHOWN = 8
CALLS_UNSEEN = 0.02


def data(
    found: Difference, alike: Likeness, names: tuple[list[str], list[str]], command: str = ""
) -> dict[str, Any]:
    """Stable keys: verdict, ratio, low, high, noise_floor, a_ms, b_ms, unit, measure, repetitions, rows, …

    `noise_floor` is the smallest relative difference that would have been seen; `measure` is wall, or own (CPU time
    and waits of the main thread, without the time that the machine took away); `command` would tell what these
    recordings cannot; `steady` has the numbers of the steps compared, as ranges; headline, notes and tables
    (dimension, source, title) are what the text shows. A row has dimension, name, source, measure, unit, a, b,
    difference, low, high, p, sure, note; null stands for "not known".
    """
    judged = found.judgement
    known = math.isfinite(judged.ratio.high)
    result: dict[str, Any] = {
        "verdict": judged.word,
        "reason": judged.reason,
        "ratio": _finite(judged.ratio.estimate),
        "low": _finite(judged.ratio.low) if known else None,
        "high": _finite(judged.ratio.high),
        "noise_floor": _finite(judged.detectable),
        "a_ms": judged.a_ms,
        "b_ms": judged.b_ms,
        "unit": found.unit,
        "measure": judged.measure,
        "wall_ratio": _finite(judged.wall_ratio),
        "preempted": {"a": judged.taken[0], "b": judged.taken[1]},
        "scatter": judged.scatter and {"deviation": judged.scatter.deviation, "runs": judged.scatter.runs},
        "page_faults": judged.faults and {"a": judged.faults[0], "b": judged.faults[1]},
        "calls": None if found.calls is None else {"a": found.calls[0], "b": found.calls[1]},
        "stepless": found.stepless,
        "traces": found.traces,
        "repetitions": {"kind": judged.repetitions, "a": judged.counts[0], "b": judged.counts[1]},
        "more_runs": judged.more_runs,
        "command": command,
        "a": names[0],
        "b": names[1],
        "unlike": alike.unlike,
        "changed": alike.changed,
        "rows": [_row(row) for row in found.rows],
        "steady": {"a": _ranges(found.steps[0]), "b": _ranges(found.steps[1])},
    }
    listed = [
        {"dimension": d, "source": s, "title": title(_rows_of(result, d, s)[0])} for d, s in tables(result)
    ]
    return {**result, "headline": headline(result), "notes": notes(result), "tables": listed}


def _ranges(numbers: tuple[int, ...]) -> list[list[int]]:
    """3, 4, 5, 9 → [[3, 5], [9, 9]]"""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _rows_of(data: dict[str, Any], dimension: str, source: str) -> list[dict[str, Any]]:
    return [r for r in data["rows"] if (r["dimension"], r["source"]) == (dimension, source)]


def _row(row: Row) -> dict[str, Any]:
    return {
        "dimension": row.dimension, "name": row.name, "source": row.source, "measure": row.measure,
        "unit": row.unit, "a": row.a, "b": row.b, "difference": row.difference, "low": _finite(row.low),
        "high": _finite(row.high), "p": row.p, "sure": row.sure, "note": row.note,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def show(data: dict[str, Any], page: Page, everything: bool = False, limit: int = ROWS_SHOWN) -> None:
    """Print it. `everything` also shows rows that are not significant."""
    page.heading(headline(data))
    for line in notes(data):
        page.line(line)
    for dimension, source in tables(data):
        mine = _rows_of(data, dimension, source)
        rows = [r for r in mine if everything or r["sure"]]
        if not rows:
            continue
        page.line()
        rest = f"; {len(mine) - len(rows)} more, not significant" if len(mine) > len(rows) else ""
        page.heading(f"{title(rows[0])[:-1]}{rest})")
        numbers = [Column(t, right=True) for t in ("A", "B", "change", "95 % interval")]
        page.table([Column(dimension, fold=True), *numbers, Column("")], [_cells(r) for r in rows[:limit]])
        if len(rows) > limit:
            page.line(f"{len(rows) - limit} more rows (use --limit)")
    if not any(r["sure"] for r in data["rows"]):
        page.line()
        page.line("No significant differences (FDR 5 %) in rows. All rows: --all")


def title(row: dict[str, Any]) -> str:
    """operators (ms per step, samples)"""
    return f"{TITLES[row['dimension']]} ({row['measure']} per {row['unit']}, {row['source']})"


def tables(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Dimension and source of each table: values of two sources do not add up."""
    found = {(r["dimension"], r["source"]) for r in data["rows"]}
    return sorted(found, key=lambda t: (DIMENSIONS.index(t[0]), t[1]))


def headline(data: dict[str, Any]) -> str:
    """One sentence: the verdict with its interval."""
    what = "a steady step" if data["unit"] == "step" else "the run"
    clock = " without preemption" if data["measure"] == "own" else ""
    times = f"{what} takes {milliseconds(data['a_ms'])} → {milliseconds(data['b_ms'])}{clock}"
    word, ratio, low, high = (data[key] for key in ("verdict", "ratio", "low", "high"))
    if word == "faster":
        return f"B is {1 / ratio:.2f}× faster ({1 / high:.2f}–{1 / low:.2f}×): {times}"
    if word == "slower":
        return f"B is {ratio:.2f}× slower ({low:.2f}–{high:.2f}×): {times}"
    if word == "same":
        return f"B is as fast as A ({low:.3f}–{high:.3f}×): {times}"
    source = (
        "one run each" if data["repetitions"]["a"] == data["repetitions"]["b"] == 1 else "these recordings"
    )
    reach = "" if low is None else f" (B takes {low:.2f}–{high:.2f}× the time of A)"
    return f"Cannot tell from {source}: {times}{reach}"


def notes(data: dict[str, Any]) -> list[str]:
    """What the verdict rests on, and what to do when there is none."""
    lines = [*_basis(data), *_conditions(data)]
    if data["verdict"] in ("inconclusive", "same"):
        lines.append(data["reason"][:1].upper() + data["reason"][1:] + ".")
    if data["verdict"] == "inconclusive" and data["command"]:
        lines.append(f"To find out: {data['command']}")
    lines += [f"Changed: {line}" for line in data["changed"]]
    lines += [f"Unlike (forced): {line}" for line in data["unlike"]]
    return lines


def _basis(data: dict[str, Any]) -> list[str]:
    """What the intervals cover."""
    kind, a, b = (data["repetitions"][k] for k in ("kind", "a", "b"))
    spread = data["scatter"]
    if kind == "recordings":
        return [f"Intervals are across {a} and {b} recordings."]
    if spread is None or data["low"] is None:
        return []
    earlier = f"{spread['runs']} alike recordings and " if spread["runs"] else ""
    told = f"{spread['deviation']:.1%} (from {earlier}a prior of {PRIOR:.0%})"
    return [f"Intervals cover the differences between runs of one program: {told}."]


def _conditions(data: dict[str, Any]) -> list[str]:
    """What the recordings were made under."""
    lines = []
    if data["measure"] == "own":
        a, b = (f"{data['preempted'][side]:.0%}" for side in "ab")
        lines.append(
            f"The machine was busy: the main thread was ready but off the CPU {a} (A) and {b} (B) of the time. "
            "Compared is its CPU time plus its own waits, not wall time."
        )
    faults = data["page_faults"]
    if faults is not None:
        lines.append(
            f"Page faults per {data['unit']}: {faults['a']:,.0f} → {faults['b']:,.0f}. Their number differs between "
            "runs of one program, so their time is left out."
        )
    if data["stepless"]:
        how = "call prof.step() after each step" if data["traces"] else "mark steps with sonde.step()"
        lines.append(f"No steps in {data['stepless']}: values are of whole runs ({how}).")
    calls = data["calls"]
    if calls is not None:
        # Windows open and close inside a step: some calls at its edge are not seen.
        same = abs(calls["a"] - calls["b"]) <= CALLS_UNSEEN * max(calls.values())
        counted = f"{calls['a']:.0f} on both sides" if same else f"{calls['a']:.0f} → {calls['b']:.0f}"
        lines.append(f"Operator calls per step: about {counted}.")
    return lines


def markdown(data: dict[str, Any], limit: int = ROWS_SHOWN) -> str:
    """A summary for a pull request."""
    lines = [f"### {headline(data)}", ""]
    lines += [f"{note}  " for note in notes(data)]
    for dimension, source in tables(data):
        mine = _rows_of(data, dimension, source)
        rows = [r for r in mine if r["sure"]][:limit]
        if rows:
            lines += [
                "",
                f"| {title(rows[0])} | A | B | change | 95 % interval | |",
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
