"""Are the insights right? Every planted mistake of examples/pitfalls, with and without it.

Usage: python -m benchmarks.insights [--rounds N] [--seconds S] [--keep FOLDER] [NAME …]
For each program: the mistake and the repair are timed in turn without Sonde (median steady step of each
run, then over runs), then each is recorded once and its insights are read. Printed and written:
    rank of the planted rule on the mistake, predicted saving against the measured one,
    whether the planted rule is silent on the repair, and everything else that was said of the repair.
`--again` reads the recordings of an earlier run (`--keep`) without recording anew.
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

from benchmarks.environment import write

PITFALLS = Path(__file__).parents[1] / "examples" / "pitfalls"
PRINTED = re.compile(r"^median step ([0-9.]+) ms, mean ([0-9.]+) ms", re.MULTILINE)
ON_AVERAGE = {"recompiles", "worker_restart"}  # only some steps pay: a median would not see it
NO_PRICE = 0.05  # of the step
NOISE = 0.03
PRIMITIVES = {"reorders", "primitive_creation"}  # these rules read oneDNN's log


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="timed pairs per program")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a run")
    parser.add_argument("--keep", type=Path, help="keep recordings and times in this folder")
    parser.add_argument("--again", action="store_true", help="read what --keep kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        for name in options.names or programs():
            rows.append(judge(name, folder, options.rounds, options.seconds, options.again))
            print(line(rows[-1]), flush=True)
    print(summary(rows))
    print(write("insights", {"rounds": options.rounds, "seconds": options.seconds, "rows": rows}))


def programs() -> list[str]:
    """Names of all pitfalls: the programs whose first line names a rule."""
    return [p.stem for p in sorted(PITFALLS.glob("*.py")) if "rule: " in p.read_text(encoding="utf-8")]


def planted_rule(name: str) -> str:
    found = re.search(r"rule: (\w+)", (PITFALLS / f"{name}.py").read_text(encoding="utf-8"))
    if not found:
        raise SystemExit(f"{name}.py names no rule in its first line")
    return found.group(1)


def judge(name: str, folder: Path, rounds: int, seconds: float, again: bool) -> dict[str, Any]:
    """Time, record and read one program; what an earlier run left in `folder` is used with `again`."""
    times = folder / f"{name}.json"
    if not (again and times.exists()):
        medians: dict[str, list[float]] = {"mistake": [], "fixed": []}
        for _ in range(rounds):
            for variant in medians:
                medians[variant].append(plain_step_ms(name, variant, folder, seconds))
        for variant in medians:
            record(name, variant, folder, seconds)
        times.write_text(json.dumps(medians), encoding="utf-8")
    medians = json.loads(times.read_text(encoding="utf-8"))
    mistake, fixed = (read(name, variant, folder) for variant in ("mistake", "fixed"))
    rule = planted_rule(name)
    ranks = [i["rule"] for i in mistake["insights"]]
    found = next((i for i in mistake["insights"] if i["rule"] == rule), None)
    before, after = statistics.median(medians["mistake"]), statistics.median(medians["fixed"])
    saving = found and found.get("saving_ms_per_step")
    whole = mistake["step_ms"]
    shares = [saving["low"] / whole, saving["high"] / whole] if saving and whole else None
    return {
        "name": name,
        "rule": rule,
        "rank": ranks.index(rule) + 1 if rule in ranks else None,
        "said": ranks,
        "predicted_share": shares,
        "measured_share": 1 - after / before,
        "step_ms": before,
        "covered": covers(shares, 1 - after / before) if shares else None,
        "silent_on_fix": rule not in [i["rule"] for i in fixed["insights"]],
        "said_of_fix": [[i["rule"], round(i["saving_share"] or 0.0, 3)] for i in fixed["insights"]],
    }


def covers(predicted: list[float], measured: float) -> bool:
    """The measured saving lies in the predicted interval, give or take the noise of two timings.

    Shares of a step: the step that Sonde sees need not be the turn of the loop that the program times.
    """
    return predicted[0] - NOISE <= measured <= predicted[1] + NOISE


def plain_step_ms(name: str, variant: str, folder: Path, seconds: float) -> float:
    done = subprocess.run(
        [sys.executable, *arguments(name, variant, seconds)],
        cwd=folder, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    found = PRINTED.search(done.stdout)
    if not found:
        raise SystemExit(f"{name} ({variant}) printed no median:\n{done.stderr[-2000:]}")
    return float(found.group(2 if planted_rule(name) in ON_AVERAGE else 1))


def record(name: str, variant: str, folder: Path, seconds: float) -> None:
    extra = ["--primitives"] if planted_rule(name) in PRIMITIVES else []
    command = [sys.executable, "-m", "sonde", "run", "--force", "-o", str(folder / f"{name}-{variant}.sonde")]
    done = subprocess.run(
        [*command, *extra, *arguments(name, variant, seconds)],
        cwd=folder, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(
            f"sonde run of {name} ({variant}) ended with {done.returncode}:\n{done.stderr[-2000:]}"
        )


def arguments(name: str, variant: str, seconds: float) -> list[str]:
    fixed = ["--fixed"] if variant == "fixed" else []
    return [str(PITFALLS / f"{name}.py"), "--seconds", str(seconds), *fixed]


def read(name: str, variant: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "insights", "--json", str(folder / f"{name}-{variant}.sonde")],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"sonde insights of {name} ({variant}) failed:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def line(row: dict[str, Any]) -> str:
    interval = row["predicted_share"]
    predicted = f"{interval[0]:.0%} to {interval[1]:.0%}" if interval else "-"
    return (
        f"{row['name']:22} {row['rule']:24} rank {row['rank'] or '-':>2}  predicted {predicted:>12}"
        f"  measured {row['measured_share']:4.0%} of {row['step_ms']:8.2f} ms  "
        f"{ {True: 'covered', False: 'MISSED', None: 'no figure'}[row['covered']]:9}"
        f"  {'' if row['silent_on_fix'] else 'FIRES ON FIX  '}said {row['said']}  of fix {row['said_of_fix']}"
    )


def costs_nothing(row: dict[str, Any]) -> bool:
    """A mistake without a price on this machine (denormals on some processors): silence is right."""
    return row["rank"] is None and row["measured_share"] < NO_PRICE


def summary(every: list[dict[str, Any]]) -> str:
    free = [r["name"] for r in every if costs_nothing(r)]
    rows = [r for r in every if not costs_nothing(r)]
    count = len(rows)
    first = sum(r["rank"] == 1 for r in rows)
    three = sum(bool(r["rank"]) and r["rank"] <= 3 for r in rows)
    with_figure = [r for r in rows if r["covered"] is not None]
    covered = sum(r["covered"] for r in with_figure)
    loud = [r["name"] for r in rows if not r["silent_on_fix"]]
    return (
        f"{count} planted: first {first} ({first / count:.0%}), in three {three} ({three / count:.0%}), "
        f"saving covered {covered} of {len(with_figure)}, planted rule heard on the fix: {loud or 'none'}, "
        f"without a price here and not heard: {free or 'none'}"
    )


if __name__ == "__main__":
    main()
