"""The dispatch chain for people: the representative call, then the levels; or two recordings side by side."""

from __future__ import annotations

from typing import Any

from sonde.analyze.samples.chain_levels import LEVELS
from sonde.render.text.page import Column, Page, bar
from sonde.render.text.units import count, milliseconds, place
from sonde.views.options import ShowOptions

MOST_STEPS, MOST_LAUNCHES = 14, 12


def show_chain(data: dict[str, Any], page: Page, options: ShowOptions) -> None:
    page.heading(_title(data))
    if data["calls"]:
        _show_call(data["calls"], page)
    if data["levels"]:
        page.line()
        page.heading(
            f"Where inside: {milliseconds(data['on_cpu_ms'])} of CPU time, {count(data['samples'])} samples of the run"
        )
        for line in data["lines"][:3]:
            share = line["ms"] / data["on_cpu_ms"]
            page.line(f"  {share * 100:3.0f} %  {line['line']}")
        outside = data["outside"]
        if outside["samples"]:
            page.line(
                f"  On these lines outside of every operator: {milliseconds(outside['ms'])} "
                f"({count(outside['samples'])} samples)"
            )
        _show_levels(data, page)
    else:
        page.line("No samples inside it: the levels below the operator are not known.")
    page.next(
        f"sonde show {options.name} ops --native --op {data['op']}", f"sonde report {options.name} --open"
    )


def _title(data: dict[str, Any]) -> str:
    calls = data["calls"]
    if not calls:
        return f"{data['op']}: no call was recorded (no profiling window); from samples alone"
    duration = calls["duration"]
    spread = f"{_us(duration['p10_us'])} – {_us(duration['p90_us'])}"
    median = _us(duration["median_us"])
    return f"{data['op']}: {count(calls['count'])} calls recorded, median {median} (10–90 %: {spread})"


def _show_call(calls: dict[str, Any], page: Page) -> None:
    call = calls["call"]
    where = f"{place(call['file'])}:{call['line']}" if call["file"] else "line not known"
    page.line(f"The median call: {where}" + (f", module {call['module']}" if call["module"] else ""))
    if call["shapes"]:
        page.line(f"  shapes {call['shapes']}")
    dead, until = calls["dead"], calls["until"]
    if dead:
        page.line(f"  dead window before the first dispatch: median {_range(dead)}")
    if until:
        page.line(f"  from there until this operator begins:  median {_range(until)}")
    page.line()
    rows = [
        ("  " * s["depth"] + s["name"], f"+{_us(s['start_us'])}", _us(s["us"]), _us(s["self_us"]))
        for s in call["steps"][:MOST_STEPS]
    ]
    for s in call["launches"][:MOST_LAUNCHES]:
        indent = "  " * (call["steps"][-1]["depth"] + 1 if call["steps"] else 1)
        rows.append((f"{indent}{s['name']}", f"+{_us(s['start_us'])}", _us(s["us"]), ""))
        late = f"+{_us(s['start_us'] + s['latency_us'])}" if s["latency_us"] is not None else ""
        rows.append((f"{indent}  → [gpu] {s['kernel']}", late, _us(s["kernel_us"]), ""))
    titles = [
        Column("operator", fold=True),
        *(Column(t, right=True) for t in ("begins", "takes", "of its own")),
    ]
    page.table(titles, rows)
    hidden = len(call["steps"]) - MOST_STEPS
    if hidden > 0:
        page.line(f"… and {hidden} more operators inside it")
    if calls["latency"]:
        page.line(f"launch → kernel begins: median {_range(calls['latency'])}, over all its launches")


def _show_levels(data: dict[str, Any], page: Page) -> None:
    per_call = None
    if data["calls"]:
        per_call = data["calls"]["duration"]["median_us"]
    rows = []
    for level in data["levels"]:
        interval = f"{level['low'] * 100:.0f}–{level['high'] * 100:.0f} %"
        cells = [level["title"], f"{level['share'] * 100:.1f} %", interval, count(level["samples"])]
        cells += [_us(level["share"] * per_call)] if per_call else []
        rows.append([*cells, bar(level["share"], 12), " → ".join(level["functions"])])
    columns = [Column("level"), *(Column(t, right=True) for t in ("share", "95 %"))]
    columns += [Column("samples", right=True, spare=1)]
    columns += [Column("of a median call", right=True)] if per_call else []
    page.table([*columns, Column("", spare=2), Column("heaviest path", fold=True)], rows)


def show_sides(data: dict[str, Any], page: Page) -> None:
    """Two recordings, level by level."""
    sides = data["sides"]
    left, right = sides["recordings"]
    page.heading(f"{sides['line']}, with everything below it (found around {data['op']})")
    for letter, side in (("A", left), ("B", right)):
        page.line(
            f"  {letter}  {side['program']}: {milliseconds(side['on_cpu_ms'])} of CPU time, "
            f"{count(side['samples'])} samples"
        )
    rows, most = [], max([lv["ms"] for s in (left, right) for lv in s["levels"].values()], default=1.0)
    for name, title in LEVELS.items():
        a, b = left["levels"].get(name), right["levels"].get(name)
        if a or b:
            rows.append([title, *_side(a, most), *_side(b, most), _paths(a, b)])
    columns = [Column("level")]
    for letter in "AB":
        columns += [Column(letter, right=True), Column("95 %", right=True, spare=2), Column("", spare=1)]
    page.table([*columns, Column("heaviest path", fold=True)], rows)
    page.line("CPU time of the whole run by level. Compiling happens once, the rest in every call.")


def _side(level: dict[str, Any] | None, most: float) -> list[str]:
    if level is None:
        return ["–", "", ""]
    whole = level["ms"] / level["share"] if level["share"] else 0.0
    interval = f"{milliseconds(level['low'] * whole)} – {milliseconds(level['high'] * whole)}"
    return [milliseconds(level["ms"]), interval, bar(level["ms"] / most, 8)]


def _paths(a: dict[str, Any] | None, b: dict[str, Any] | None) -> str:
    texts = [" → ".join(side["functions"][-2:]) if side else "" for side in (a, b)]
    if not all(texts) or texts[0] == texts[1]:
        return texts[0] or texts[1]
    return f"A {texts[0]} | B {texts[1]}"


def _range(spread: dict[str, Any]) -> str:
    return f"{_us(spread['median_us'])} (10–90 %: {_us(spread['p10_us'])} – {_us(spread['p90_us'])})"


def _us(us: float) -> str:
    return milliseconds(us / 1e3)
