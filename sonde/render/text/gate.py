"""`sonde bench` for people and machines: terminal, Markdown for a pull request, JUnit XML, a picture.

Enters: results of the gate. Leaves: text. Every form is made from `gate_data`.
"""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

from sonde.experiment.gate.gate import Result
from sonde.render.text.experiments import comparison_data
from sonde.render.text.page import Column, Page

MARKS = {"pass": "✅", "fail": "❌", "inconclusive": "❔"}
WIDTH = 41  # characters of an interval's picture in Markdown, 1.0 in the middle
SVG_WIDTH, ROW_HEIGHT, LABEL_WIDTH = 720, 34, 220


def gate_data(results: list[Result], base: str, head: str) -> dict[str, Any]:
    """Stable keys: base, head, status, benchmarks: name, command, status, sentence, limit, seconds, comparison."""
    statuses = [r.status for r in results]
    worst = next((s for s in ("fail", "inconclusive") if s in statuses), "pass")
    return {
        "base": base,
        "head": head,
        "status": worst,
        "benchmarks": [
            {
                "name": r.name,
                "command": list(r.command),
                "status": r.status,
                "sentence": r.sentence,
                "limit": r.limit,
                "seconds": r.seconds,
                "comparison": comparison_data(r.comparison),
            }
            for r in results
        ],
    }


def show_gate(data: dict[str, Any], page: Page) -> None:
    page.heading(f"{data['head']} against {data['base']}: {data['status']}")
    page.table(
        [
            Column("benchmark"),
            Column("status"),
            Column("base", right=True),
            Column("head", right=True),
            Column(""),
        ],
        [
            (
                b["name"],
                b["status"],
                _ms(b["comparison"]["a_ms"]),
                _ms(b["comparison"]["b_ms"]),
                b["sentence"],
            )
            for b in data["benchmarks"]
        ],
    )
    for line in _remarks(data):
        page.line(line)


def _ms(value: float) -> str:
    return f"{value:.3g} ms"


def _remarks(data: dict[str, Any]) -> list[str]:
    """What a reader must know beside the verdicts."""
    lines = []
    for b in data["benchmarks"]:
        found = b["comparison"]
        if not found["same_result"]:
            lines.append(f"{b['name']}: results differ between base and head: {' / '.join(found['results'])}")
        if found["unit"] == "launch":
            lines.append(
                f"{b['name']}: no steady steps were found, so whole runs are compared, start-up included"
            )
    return lines


def markdown(data: dict[str, Any]) -> str:
    """A comment for a pull request."""
    words = {
        "pass": "no slow-down",
        "fail": "this change is slower",
        "inconclusive": "cannot tell on this runner",
    }
    lines = [
        f"### {MARKS[data['status']]} Performance: {words[data['status']]}",
        "",
        f"`{data['head']}` against `{data['base']}`, pairs in random order on one machine.",
        "",
        "| benchmark | base | head | time of head | |",
        "|---|--:|--:|--:|---|",
    ]
    for b in data["benchmarks"]:
        found = b["comparison"]
        lines.append(
            f"| {_cell(b['name'])} | {_ms(found['a_ms'])} | {_ms(found['b_ms'])} | {_interval(found)} "
            f"| {MARKS[b['status']]} {_cell(b['sentence'])} |"
        )
    lines += ["", "```", f"{'faster ←':>20}{'':{WIDTH // 2 - 10}}1{'':{WIDTH // 2 - 9}}→ slower"]
    lines += [f"{_interval_picture(b['comparison'])}  {b['name']}" for b in data["benchmarks"]]
    lines += ["```", *(f"- {_cell(line)}" for line in _remarks(data))]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _interval(found: dict[str, Any]) -> str:
    low, high = found["low"], found["high"]
    known = "" if low is None or high is None else f" ({low:.3f}–{high:.3f})"
    return f"{found['ratio']:.3f}×{known}"


def _reach(found: dict[str, Any]) -> float:
    """How far the axis of the picture goes to both sides of 1."""
    ends = [abs(math.log(v)) for v in (found["low"], found["high"], found["ratio"]) if v]
    return max(0.05, 1.1 * max(ends))


def _interval_picture(found: dict[str, Any]) -> str:
    reach, middle = _reach(found), WIDTH // 2

    def at(value: float) -> int:
        return round(middle + middle * max(-1.0, min(1.0, math.log(value) / reach)))

    cells = [" "] * WIDTH
    cells[middle] = "│"
    if found["low"] and found["high"]:
        for i in range(at(found["low"]), at(found["high"]) + 1):
            cells[i] = "┼" if i == middle else "─"
    cells[at(found["ratio"])] = "●"
    return "".join(cells) + f" ±{math.expm1(reach):.0%}"


def junit(data: dict[str, Any]) -> str:
    """One test case per benchmark; inconclusive ones are skipped, with the reason."""
    cases = data["benchmarks"]
    suite = ElementTree.Element(
        "testsuite",
        name="sonde bench",
        tests=str(len(cases)),
        failures=str(sum(b["status"] == "fail" for b in cases)),
        skipped=str(sum(b["status"] == "inconclusive" for b in cases)),
        errors="0",
        time=f"{sum(b['seconds'] for b in cases):.1f}",
    )
    for b in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname="sonde.bench", name=b["name"], time=f"{b['seconds']:.1f}"
        )
        if b["status"] == "fail":
            ElementTree.SubElement(case, "failure", message=b["sentence"])
        elif b["status"] == "inconclusive":
            ElementTree.SubElement(case, "skipped", message=b["sentence"])
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def svg(data: dict[str, Any]) -> str:
    """All intervals on one axis."""
    rows = data["benchmarks"]
    reach = max((_reach(b["comparison"]) for b in rows), default=0.05)
    plot, height = SVG_WIDTH - LABEL_WIDTH - 20, ROW_HEIGHT * len(rows) + 40
    root = ElementTree.Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {SVG_WIDTH} {height}", "font-family": "sans-serif",
         "font-size": "13"},
    )  # fmt: skip

    def x(value: float) -> float:
        return LABEL_WIDTH + plot / 2 * (1 + max(-1.0, min(1.0, math.log(value) / reach)))

    def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> None:
        ElementTree.SubElement(
            root, "line",
            {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}", "stroke": colour,
             "stroke-width": f"{width:g}"},
        )  # fmt: skip

    def text(at: float, y: float, words: str, anchor: str = "start") -> None:
        ElementTree.SubElement(
            root, "text", {"x": f"{at:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
        ).text = words

    line(x(1), 8, x(1), height - 28, "#888", 1)
    colours = {"pass": "#2b8a3e", "fail": "#c92a2a", "inconclusive": "#868e96"}
    for number, b in enumerate(rows):
        found, y, colour = b["comparison"], 24 + ROW_HEIGHT * number, colours[b["status"]]
        text(8, y + 4, b["name"][:32])
        if found["low"] and found["high"]:
            line(x(found["low"]), y, x(found["high"]), y, colour, 3)
        ElementTree.SubElement(
            root, "circle", {"cx": f"{x(found['ratio']):.1f}", "cy": f"{y}", "r": "5", "fill": colour}
        )
    for value in (math.exp(-reach), 1.0, math.exp(reach)):
        text(x(value), height - 10, f"{value:.2f}×", "middle")
    return ElementTree.tostring(root, encoding="unicode") + "\n"
