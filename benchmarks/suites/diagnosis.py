"""Does Sonde name the right line, work and way? Programs with a mistake, written without reading the rules.

Usage: python -m benchmarks diagnosis [--set first|second] [--rounds N] [--keep FOLDER] [--again] [NAME …]
Each program (`benchmarks/lib/diagnosis_sets.py`) is recorded once with its mistake and, where it is timed, once
repaired. Printed, and written when no names are given:
    rank of the first card on a line of the mistake, whether its kind of work and its way are among the right ones,
    the predicted saving against the measured one, and cards with a positive lower end on the repaired program.
The sets are frozen: the hash is in the result. What tuned a rule cannot test it, so programs are not changed to be
found, and what was read of a set before anything was learnt from it is kept as a result of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.lib.diagnosis_sets import FROZEN, Program, digest, programs
from benchmarks.lib.environment import write
from sonde.ingest import open_any
from sonde.insights.engine import judge
from sonde.insights.to_json import report_json

RESULTS = Path(__file__).parents[1] / "results"
# The readings before anything was learnt from a set.
FIRST_SEEN = {"first": "diagnosis-first", "second": "diagnosis-second-first"}
WRITTEN = {"first": "diagnosis", "second": "diagnosis-second"}
PRINTED = re.compile(r"^(\d+) steps ([0-9.]+) s", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("--set", choices=("first", "second"), default="first", help="of programs")
    parser.add_argument("--rounds", type=int, default=2, help="timed pairs per program of the first set")
    parser.add_argument("--keep", type=Path, help="keep recordings and times in this folder, and use them")
    parser.add_argument("--again", action="store_true", help="start nothing: judge what --keep kept")
    options = parser.parse_args()
    known = programs(options.set)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or known:
            if options.again and not (folder / f"{name}.sonde" / "samples").is_dir():
                continue
            row = _judged(known[name], folder, 0 if options.again else options.rounds)
            rows.append(row)
            print(_line(row), flush=True)
    summary = _summary(rows)
    print(json.dumps(summary, indent=1))
    if options.names:
        return  # a part of the exam is no result of it
    seen = RESULTS / f"{FIRST_SEEN[options.set]}.json"
    first = json.loads(seen.read_text(encoding="utf-8"))["summary"] if seen.exists() else None
    now = digest(options.set)
    found = {"set": now, "frozen": now == FROZEN[options.set], "summary": summary, "first_seen": first}
    write(WRITTEN[options.set], {**found, "programs": rows})


def _judged(program: Program, folder: Path, rounds: int) -> dict[str, Any]:
    name = program.name
    cards = _cards(program.python, (str(program.file),), folder / f"{name}.sonde")
    other = folder / f"{name}-fixed.sonde"
    timed = program.measured is None and rounds
    repaired = (
        _cards(program.python, program.repaired, other) if timed or other.is_dir() else {"insights": []}
    )
    times = None if program.measured is not None else _times(program, rounds, folder / f"{name}.times.json")
    rank = next((i for i, card in enumerate(cards["insights"], 1) if _on(card, program)), None)
    card = cards["insights"][rank - 1] if rank else None
    saving = 1 - times["fixed"] / times["mistake"] if times else program.measured
    promised = (card or {}).get("saving_ms_per_step")
    held = None
    if promised and saving is not None and card is not None:
        held = promised["low"] / card["saving_of_ms"] <= saving <= promised["high"] / card["saving_of_ms"]
    return {
        "program": name,
        "in_catalogue": program.in_catalogue,
        "rank": rank,
        "rule": card["rule"] if card else None,
        "kind": card.get("work") if card else None,
        "kind_right": card is not None and card.get("work") in program.kinds,
        "way": card.get("way") if card else None,
        "way_right": card is not None and card.get("way") in program.ways,
        "promised": None if not promised else [promised[e] / card["saving_of_ms"] for e in ("low", "high")],  # type: ignore[index]
        "measured": saving,
        "held": held,
        "first": cards["insights"][0]["title"] if cards["insights"] else None,
        "alarms": [
            c["title"] for c in repaired["insights"] if (c["saving_ms_per_step"] or {"low": 0})["low"] > 0
        ],
    }


def _on(card: dict[str, Any], program: Program) -> bool:
    """Whether the card, or a piece of its evidence, names a line of the mistake."""
    places = [card, *card["evidence"]]
    return any(
        Path(p.get("file") or "").name == program.file.name and p.get("line") in program.lines for p in places
    )


def _cards(python: str, words: tuple[str, ...], recording: Path) -> dict[str, Any]:
    sonde = [sys.executable, "-m", "sonde"]
    if not recording.is_dir():
        target = words if python == sys.executable else (python, *words)
        run = [*sonde, "run", "--quiet", "-o", str(recording), *target]
        subprocess.run(run, check=True, capture_output=True, cwd=recording.parent)
    answer: dict[str, Any] = report_json(judge(open_any(recording)))
    if answer["failed"]:
        raise SystemExit(f"a rule failed on {recording.name}: {answer['failed']}")
    return answer


def _times(program: Program, rounds: int, kept: Path) -> dict[str, float] | None:
    """Milliseconds per step, median over rounds, with the mistake and without it."""
    if kept.is_file():
        known: dict[str, float] = json.loads(kept.read_text())
        return known
    found: dict[str, list[float]] = {"mistake": [], "fixed": []}
    for _ in range(rounds):
        for which, words in (("mistake", (str(program.file),)), ("fixed", program.repaired)):
            command = [program.python, "-W", "ignore", *words]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=kept.parent)
            steps, seconds = PRINTED.findall(done.stdout)[-1]
            found[which].append(1e3 * float(seconds) / int(steps))
    if not rounds:
        return None
    medians = {which: statistics.median(values) for which, values in found.items()}
    kept.write_text(json.dumps(medians))
    return medians


def _line(row: dict[str, Any]) -> str:
    promised = "–" if not row["promised"] else f"{row['promised'][0]:.0%}–{row['promised'][1]:.0%}"
    measured = "–" if row["measured"] is None else f"{row['measured']:.0%}"
    kind = (row["kind"] or "–") + ("" if row["kind_right"] else " ✗")
    return (
        f"{row['program']:<28} line {row['rank'] or 'missed':<6} kind {kind}"
        f"  way {row['way'] or '–'}{'' if row['way_right'] else ' ✗'}  promised {promised} measured {measured}"
        + (f"  alarms {len(row['alarms'])}" if row["alarms"] else "")
    )


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def of(wanted: list[dict[str, Any]]) -> dict[str, Any]:
        judged = [r for r in wanted if r["held"] is not None]
        return {
            "programs": len(wanted),
            "line_first": sum(r["rank"] == 1 for r in wanted),
            "line_in_first_three": sum(r["rank"] is not None and r["rank"] <= 3 for r in wanted),
            "line_and_kind_first": sum(r["rank"] == 1 and r["kind_right"] for r in wanted),
            "way_right": sum(r["way_right"] for r in wanted),
            "saving_held": f"{sum(r['held'] for r in judged)} of {len(judged)}",
            "repaired_programs_with_a_card": sum(bool(r["alarms"]) for r in wanted),
        }

    return {
        "all": of(rows),
        "in_catalogue": of([r for r in rows if r["in_catalogue"]]),
        "outside": of([r for r in rows if not r["in_catalogue"]]),
        "missed": [r["program"] for r in rows if r["rank"] is None or r["rank"] > 3],
    }


if __name__ == "__main__":
    main()
