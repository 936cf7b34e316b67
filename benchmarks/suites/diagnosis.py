"""Does Sonde name the right line, work and way? 65 programs with a mistake, written without reading the rules.

Usage: python -m benchmarks diagnosis [--rounds N] [--keep FOLDER] [--again] [NAME …]
Each program of benchmarks/workloads/diagnosis is recorded once with its mistake and once repaired (`--fixed`), and
both are timed in turn without Sonde. The lines of the mistake are marked `# !`; expected.tsv says which kinds of work
and which ways are right. Printed and written:
    rank of the first card on a marked line, whether its kind of work and its way are among the right ones,
    the predicted saving against the measured one, and cards with a positive lower end on the repaired program.
The set is frozen: its hash is in the result. What tuned a rule cannot test it, so programs are not changed to be found.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import write

PROGRAMS = Path(__file__).parents[1] / "workloads" / "diagnosis"
PRINTED = re.compile(r"^(\d+) steps ([0-9.]+) s", re.MULTILINE)
FROZEN = "5d56e09bd92d4fd3992e88893bc25c6c71f2fc2297774ccc70ada60495ec75b2"
# expected.tsv speaks as the account's table does; these are its stable keys.
KINDS = {
    "arithmetic": "arithmetic", "memory traffic": "memory", "copies and layout": "copies", "random numbers": "random",
    "gather and scatter": "gather", "allocation and page faults": "allocation", "python": "python",
    "dispatch": "dispatch", "autograd": "autograd", "loading": "loading", "i/o": "io", "gc": "gc",
    "locks and gil": "locks",
    "barriers and imbalance": "barriers", "sleep": "sleep", "waiting": "waiting", "compiling": "compiling",
    "debugging and tracing": "debugging", "taken away by others": "taken",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("--rounds", type=int, default=2, help="timed pairs per program")
    parser.add_argument("--keep", type=Path, help="keep recordings and times in this folder, and use them")
    parser.add_argument("--again", action="store_true", help="start nothing: judge what --keep kept")
    options = parser.parse_args()
    expected = _expected()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or expected:
            if options.again and not (folder / f"{name}.sonde").is_dir():
                continue
            row = _judged(name, expected[name], folder, 0 if options.again else options.rounds)
            rows.append(row)
            print(_line(row), flush=True)
    summary = _summary(rows)
    print(json.dumps(summary, indent=1))
    write("diagnosis", {"set": _hash(), "frozen": _hash() == FROZEN, "summary": summary, "programs": rows})


def _expected() -> dict[str, dict[str, str]]:
    with (PROGRAMS / "expected.tsv").open(encoding="utf-8") as stream:
        return {row["program"]: row for row in csv.DictReader(stream, delimiter="\t")}


def _hash() -> str:
    digest = hashlib.sha256()
    for path in [*sorted(PROGRAMS.glob("*.py")), PROGRAMS / "expected.tsv"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def marked_lines(source: str) -> set[int]:
    """Lines that hold the mistake."""
    return {number for number, line in enumerate(source.splitlines(), 1) if line.rstrip().endswith("# !")}


def _judged(name: str, expected: dict[str, str], folder: Path, rounds: int) -> dict[str, Any]:
    program = PROGRAMS / f"{name}.py"
    lines = marked_lines(program.read_text(encoding="utf-8"))
    cards = _cards(program, [], folder / f"{name}.sonde")
    other = folder / f"{name}-fixed.sonde"
    repaired = _cards(program, ["--fixed"], other) if rounds or other.is_dir() else {"insights": []}
    times = _times(program, rounds, folder / f"{name}.times.json")
    rank = next((i for i, card in enumerate(cards["insights"], 1) if _on(card, program, lines)), None)
    card = cards["insights"][rank - 1] if rank else None
    saving = 1 - times["fixed"] / times["mistake"] if times else None
    promised = (card or {}).get("saving_ms_per_step")
    held = None
    if promised and saving is not None and card is not None:
        held = promised["low"] / card["saving_of_ms"] <= saving <= promised["high"] / card["saving_of_ms"]
    return {
        "program": name,
        "in_catalogue": expected["catalogue"] == "yes",
        "rank": rank,
        "rule": card["rule"] if card else None,
        "kind": card.get("work") if card else None,
        "kind_right": card is not None
        and card.get("work") in {KINDS[k] for k in expected["kinds"].split(",")},
        "way": card.get("way") if card else None,
        "way_right": card is not None and card.get("way") in expected["ways"].split(","),
        "promised": None if not promised else [promised[e] / card["saving_of_ms"] for e in ("low", "high")],  # type: ignore[index]
        "measured": saving,
        "held": held,
        "first": cards["insights"][0]["title"] if cards["insights"] else None,
        "alarms": [
            c["title"] for c in repaired["insights"] if (c["saving_ms_per_step"] or {"low": 0})["low"] > 0
        ],
    }


def _on(card: dict[str, Any], program: Path, lines: set[int]) -> bool:
    """Whether the card, or a piece of its evidence, names a marked line."""
    places = [card, *card["evidence"]]
    return any(Path(p.get("file") or "").name == program.name and p.get("line") in lines for p in places)


def _cards(program: Path, words: list[str], recording: Path) -> dict[str, Any]:
    sonde = [sys.executable, "-m", "sonde"]
    if not recording.is_dir():
        run = [*sonde, "run", "--quiet", "-o", str(recording), str(program), *words]
        subprocess.run(run, check=True, capture_output=True, cwd=recording.parent)
    found = subprocess.run(
        [*sonde, "insights", "--json", str(recording)], check=True, capture_output=True, text=True
    )
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def _times(program: Path, rounds: int, kept: Path) -> dict[str, float] | None:
    """Milliseconds per step, median over rounds, with the mistake and without it."""
    if kept.is_file():
        known: dict[str, float] = json.loads(kept.read_text())
        return known
    found: dict[str, list[float]] = {"mistake": [], "fixed": []}
    for _ in range(rounds):
        for which, words in (("mistake", []), ("fixed", ["--fixed"])):
            command = [sys.executable, "-W", "ignore", str(program), *words]
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
