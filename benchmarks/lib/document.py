"""docs/benchmarks.md, benchmarks/README.md and the figures of README.md, from the latest results: make bench-docs.

In: benchmarks/results/*.json, lib/plan.py. Out: the two pages, the plots (docs/images/bench-*.svg) and the table
between the two marks in README.md. `outdated` says which of them would change; `make test` prints it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.__main__ import SUITES as FOLDER
from benchmarks.__main__ import question
from benchmarks.lib.headlines import HEADLINES, README, Result, percent
from benchmarks.lib.plan import SUITES
from benchmarks.lib.plots import MISS, OURS, THEIRS, Point, intervals

ROOT = Path(__file__).resolve().parents[2]
RESULTS, IMAGES = ROOT / "benchmarks" / "results", ROOT / "docs" / "images"
BEGIN, END = "<!-- benchmarks: made by make bench-docs -->", "<!-- end of benchmarks -->"


def results() -> dict[str, Result]:
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))
    }


def command_of(name: str, result: Result) -> str:
    return str(result.get("command") or f"python -m benchmarks {name.partition('-')[0]}")


def provenance(result: Result) -> str:
    """When, of which commit and under which load a result was made."""
    load = (result.get("load") or {}).get("after") or [None]
    made = f"{str(result['made'])[:10]}, commit {result.get('commit') or 'not kept'}"
    return made + (f", load {load[0]:.1f}" if load[0] is not None else "")


def ours(name: str) -> str:
    return OURS if "sonde" in name else THEIRS


def plots(found: dict[str, Result]) -> dict[str, str]:
    """File name → picture."""
    made = {}
    if "overhead" in found:
        rows = [
            r for r in found["overhead"]["rows"] if r["workload"] == "op_dense" and r["profiler"] != "nothing"
        ]
        points = [
            Point(r["profiler"], r["ratio"], r["low"], r["high"], f"{r['ratio']:.3f}", ours(r["profiler"]))
            for r in rows
        ]
        title = "CPU time relative to an unprofiled run: a loop of tiny operators, median and range"
        made["bench-overhead.svg"] = intervals(title, points, "1.0 = unprofiled", lambda v: f"{v:.2f}")
    if "overhead-inside" in found:
        points = [
            Point(r["profiler"], r["share"], r["low"], r["high"], percent(r["share"]), ours(r["profiler"]))
            for r in found["overhead-inside"]["rows"]
        ]
        title = "Cost inside one process, by random on/off blocks: estimate and 95 % interval"
        made["bench-inside.svg"] = intervals(
            title, points, "of CPU time", lambda v: percent(v, 0), (0.0, max(p.high for p in points))
        )
    if "attribution" in found:
        rows = [
            r for r in found["attribution"]["rows"] if r["workload"] == "conv_net" and r["op"] is not None
        ]
        points = [
            Point(
                r["profiler"], r["op"], 0.0, r["op"], f"op {percent(r['op'], 0)}"
                + ("" if r["leaf"] is None else f", leaf {percent(r['leaf'], 0)}"),
                ours(r["profiler"]), r["leaf"],
            )
            for r in rows
        ]  # fmt: skip
        title = "CPU samples of a conv net with an operator (dot) and with a named leaf (cross)"
        made["bench-attribution.svg"] = intervals(
            title, points, "of samples", lambda v: percent(v, 0), (0.0, 1.0)
        )
    if "reader" in found:
        rows = [r for r in found["reader"]["rows"] if r["input"] == "plain"]
        points = [
            Point(
                r["reader"], r["mb_per_cpu_s_median"], r["json_bytes"] / 1e6 / max(r["cpu_s"]),
                r["mb_per_cpu_s_best"], f"{r['mb_per_cpu_s_median']:.0f} MB/s", ours(r["reader"]),
            )
            for r in rows
        ]  # fmt: skip
        title = "Reading a trace: MB of JSON per CPU second, median and range"
        made["bench-reader.svg"] = intervals(
            title, points, "MB per CPU second", lambda v: f"{v:.0f}", (0.0, max(p.high for p in points))
        )
    if "insights" in found:
        made["bench-insights.svg"] = savings(found["insights"])
    if "statistics" in found:
        points = [
            Point(r["design"], r["called_different"], r["low"], r["high"],
                  percent(r["called_different"]), ours(r["design"]))
            for r in found["statistics"]["rows"] if r["effect"] == 0
        ]  # fmt: skip
        title = "Called different where nothing is: simulated A/A tests with drift, 95 % interval"
        made["bench-false-positives.svg"] = intervals(
            title, points, "of tests", lambda v: percent(v, 0), (0.0, 1.0)
        )
    return made


def known_savings(result: Result) -> list[Result]:
    return [r for r in result["rows"] if r.get("measured_share") is not None and r.get("predicted_share")]


def savings(result: Result) -> str:
    """Each planted mistake: the predicted interval, and the measured saving as a cross; misses are red."""
    rows = sorted(known_savings(result), key=lambda r: -float(r["measured_share"]))
    points = [
        Point(
            r["name"], None, *r["predicted_share"], "" if r["covered"] else f"miss: {percent(r['measured_share'], 0)}",
            OURS if r["covered"] else MISS, r["measured_share"],
        )
        for r in rows
    ]  # fmt: skip
    title = "Predicted saving of a step (bar) and measured saving (cross); misses in red"
    return intervals(title, points, "of the step", lambda v: percent(v, 0), (-0.1, 1.0))


def document(found: dict[str, Result], pictures: dict[str, str]) -> str:
    lines = [
        "# Benchmarks",
        "",
        "The latest run of each suite in `benchmarks/results`. How to run them: [README](../benchmarks/README.md).",
        "Figures depend on the machine and its load: compare only what one run measured. Made by `make bench-docs`.",
        "",
    ]
    for name in pictures:
        lines += [f"![{name}](images/{name})", ""]
    misses = [r for r in known_savings(found.get("insights", {"rows": []})) if not r["covered"]]
    if misses:
        lines += [
            "## Predictions that missed",
            "",
            "| program | rule | predicted | measured |",
            "|---|---|---|---|",
        ]
        for r in misses:
            low, high = (percent(v) for v in r["predicted_share"])
            lines.append(f"| {r['name']} | {r['rule']} | {low} to {high} | {percent(r['measured_share'])} |")
        lines.append("")
    lines += ["## All figures", "", "| what | figure | made by | when |", "|---|---|---|---|"]
    for name, result in found.items():
        if name in HEADLINES:
            what, figure = HEADLINES[name](result)
            lines.append(f"| {what} | {figure} | `{command_of(name, result)}` | {provenance(result)} |")
    return "\n".join(lines) + "\n"


GUIDE = """# Benchmarks

`python -m benchmarks NAME` runs one suite; `--help` after the name lists its options.

- `make bench` runs the suites of the first table from nothing.
- `make bench-quick` runs a short form of them in 15 minutes; results in `build/bench/quick`.
- `make proofs` runs those of the second table, which measure [what Sonde promises](../docs/promises.md).
- `make bench-docs` makes [docs/benchmarks.md](../docs/benchmarks.md), this page and the figures of README.

`suites/` has one file per question, `lib/` what they share, `workloads/` the programs that are profiled.
`results/NAME.json` is the latest run, with commit, version, command, machine and load; older ones are in git.
Real traces come from `tests/data/traces`; everything else is made by the suite.
Minutes are of two idle cores. Run nothing beside them.
"""


def guide() -> str:
    """benchmarks/README.md."""
    lines = [GUIDE]
    for proof in (False, True):
        chosen = [suite for suite in SUITES if suite.proof == proof]
        lines += [
            f"## {'Proofs' if proof else 'Benchmarks'} ({sum(s.minutes for s in chosen):.0f} minutes)",
            "",
        ]
        lines += ["| question | command | minutes | short form | needs |", "|---|---|---|---|---|"]
        for suite in chosen:
            command = f"`python -m benchmarks {suite.name} {suite.options}".rstrip() + "`"
            short = "–" if suite.quick is None else f"{suite.quick_minutes:g} min"
            asked = question(FOLDER / f"{suite.name}.py")
            lines.append(f"| {asked} | {command} | {suite.minutes:g} | {short} | {suite.needs or '–'} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def table(found: dict[str, Result]) -> str:
    """The rows of README.md that benchmarks make."""
    lines = [BEGIN, "| what | figure | made by |", "|---|---|---|"]
    for name in README:
        if name in found:
            what, figure = HEADLINES[name](found[name])
            lines.append(f"| {what} | {figure} | `{command_of(name, found[name])}` |")
    return "\n".join([*lines, END])


def pages() -> dict[Path, str]:
    """Every file that this module writes, with its text."""
    found = results()
    pictures = plots(found)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2]
    texts = {IMAGES / name: text for name, text in pictures.items()}
    texts[ROOT / "docs" / "benchmarks.md"] = document(found, pictures)
    texts[ROOT / "benchmarks" / "README.md"] = guide()
    if rest:
        texts[ROOT / "README.md"] = before + table(found) + after
    return texts


def outdated() -> list[str]:
    """The files that do not say what the results say."""
    changed = (p for p, text in pages().items() if not p.exists() or p.read_text(encoding="utf-8") != text)
    return [path.relative_to(ROOT).as_posix() for path in changed]


def main() -> int:
    changed = outdated()
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    print("\n".join(changed) or "nothing changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
