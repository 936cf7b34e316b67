"""Are the insights right? Every planted mistake of examples/pitfalls, with and without it.

Usage: python -m benchmarks insights [--rounds N] [--seconds S] [--keep FOLDER [--minutes M]] [NAME …]
For each program: the mistake and the repair are timed in turn without Sonde (median steady step of each
run, then over runs), then each is recorded once and its insights are read. Printed and written:
    rank of the planted rule on the mistake, predicted saving against the measured one,
    whether the planted rule is silent on the repair, and everything else that was said of the repair.
A saving counts as covered when the predicted interval holds the measured saving itself, with nothing added
for the noise of the timing (strict); beside it stands whether it meets the 95 % interval of the measured one.

What `--keep` kept is used again, so a campaign can be cut into portions (`--minutes`) and rules can be
judged anew on old recordings (`--again`: no program is started). `--anew` measures what is kept once more.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import write
from sonde.ingest import open_any
from sonde.insights.engine import judge as all_rules
from sonde.insights.to_json import report_json
from sonde.statistics.student import t_quantile

PITFALLS = Path(__file__).parents[2] / "examples" / "pitfalls"
PRINTED = re.compile(r"^median step ([0-9.]+) ms, mean ([0-9.]+) ms", re.MULTILINE)
ON_AVERAGE = {"recompiles", "worker_restart"}  # only some steps pay: a median would not see it
NO_PRICE = 0.05  # of the step
AT_LEAST_S = {"memory_growth": 4.0}  # memory is read twice a second
PRIMITIVES = {"reorders", "primitive_creation"}  # these rules read oneDNN's log


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="timed pairs per program")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a run")
    parser.add_argument("--keep", type=Path, help="keep recordings and times in this folder, and use them")
    parser.add_argument("--again", action="store_true", help="start nothing: judge what --keep kept")
    parser.add_argument("--anew", action="store_true", help="measure also what --keep kept")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no program after so long")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    rows, missing = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or programs():
            kept = (folder / f"{name}.json").exists() and not options.anew
            if not kept and (options.again or time.monotonic() > until):
                missing.append(name)
                continue
            if not kept:
                measure(name, folder, options.rounds, options.seconds)
            rows.append(judge(name, folder))
            print(line(rows[-1]), flush=True)
    if rows:
        print(summary(rows))
        print(write("insights", {"seconds": options.seconds, "rows": rows, "missing": missing}))
    if missing:
        print("not measured yet:", " ".join(missing))


def programs() -> list[str]:
    """Names of all pitfalls: the programs whose first line names a rule."""
    return [p.stem for p in sorted(PITFALLS.glob("*.py")) if "rule: " in p.read_text(encoding="utf-8")]


def planted_rule(name: str) -> str:
    found = re.search(r"rule: (\w+)", (PITFALLS / f"{name}.py").read_text(encoding="utf-8"))
    if not found:
        raise SystemExit(f"{name}.py names no rule in its first line")
    return found.group(1)


def measure(name: str, folder: Path, rounds: int, seconds: float) -> None:
    """Times and recordings of one program, into `folder`; its times are written last, when all is there."""
    medians: dict[str, list[float]] = {"mistake": [], "fixed": []}
    for _ in range(rounds):
        for variant in medians:
            medians[variant].append(plain_step_ms(name, variant, folder, seconds))
    for variant in medians:
        record(name, variant, folder, seconds)
    (folder / f"{name}.json").write_text(json.dumps(medians), encoding="utf-8")


def judge(name: str, folder: Path) -> dict[str, Any]:
    """What the rules say of a program's two recordings, beside what was measured."""
    medians = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    mistake, fixed = (read(name, variant, folder) for variant in ("mistake", "fixed"))
    rule = planted_rule(name)
    ranks = [i["rule"] for i in mistake["insights"]]
    found = next((i for i in mistake["insights"] if i["rule"] == rule), None)
    saving = found and found.get("saving_ms_per_step")
    whole = found and found["saving_of_ms"]
    shares = [saving["low"] / whole, saving["high"] / whole] if saving and whole else None
    measured, low, high = measured_share(medians["mistake"], medians["fixed"])
    return {
        "name": name,
        "rule": rule,
        "rank": ranks.index(rule) + 1 if rule in ranks else None,
        "said": ranks,
        "predicted_share": shares,
        "measured_share": measured,
        "measured_interval": [low, high],
        "step_ms": medians,
        "covered": shares[0] <= measured <= shares[1] if shares else None,
        "met": shares[0] <= high and low <= shares[1] if shares else None,
        "silent_on_fix": rule not in [i["rule"] for i in fixed["insights"]],
        "said_of_fix": [[i["rule"], round(i["saving_share"] or 0.0, 3)] for i in fixed["insights"]],
    }


def measured_share(mistake: list[float], fixed: list[float]) -> tuple[float, float, float]:
    """The saving as a share of the mistake's step, with its 95 % interval over runs.

    Shares, because the step that Sonde sees need not be the turn of the loop that the program times. The
    interval is Student's, of the logarithm of the ratio; of one run each it is the point alone.
    """
    before, after = ([math.log(ms) for ms in times] for times in (mistake, fixed))
    point = 1 - statistics.median(fixed) / statistics.median(mistake)
    freedom = len(before) + len(after) - 2
    if freedom < 1:
        return point, point, point
    spread = sum(statistics.pvariance(part) * len(part) for part in (before, after)) / freedom
    reach = t_quantile(0.975, freedom) * math.sqrt(spread * (1 / len(before) + 1 / len(after)))
    middle = math.log(1 - point)
    return point, 1 - math.exp(middle + reach), 1 - math.exp(middle - reach)


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
    seconds = max(seconds, AT_LEAST_S.get(planted_rule(name), 0.0))
    return [str(PITFALLS / f"{name}.py"), "--seconds", str(seconds), *fixed]


def read(name: str, variant: str, folder: Path) -> dict[str, Any]:
    said = report_json(all_rules(open_any(folder / f"{name}-{variant}.sonde")))
    if said["failed"]:
        raise SystemExit(f"a rule failed on {name} ({variant}): {said['failed']}")
    return said


def line(row: dict[str, Any]) -> str:
    interval = row["predicted_share"]
    predicted = f"{interval[0]:.0%} to {interval[1]:.0%}" if interval else "-"
    low, high = row["measured_interval"]
    covered = {True: "covered", False: "MISSED", None: "no figure"}[row["covered"]]
    if row["covered"] is False and row["met"]:
        covered = "met"
    return (
        f"{row['name']:22} rank {row['rank'] or '-':>2}  predicted {predicted:>12}"
        f"  measured {row['measured_share']:4.0%} ({low:.0%} to {high:.0%})"
        f" of {statistics.median(row['step_ms']['mistake']):8.2f} ms  {covered:9}"
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
    covered, met = (sum(r[key] for r in with_figure) for key in ("covered", "met"))
    widths = [r["predicted_share"][1] - r["predicted_share"][0] for r in with_figure]
    wide = f"{statistics.median(widths):.0%} of the step" if widths else "-"
    alarms = [(r["name"], *said) for r in every for said in r["said_of_fix"]]
    return (
        f"{count} planted: first {first} ({first / count:.0%}), in three {three} ({three / count:.0%}), "
        f"saving covered {covered} of {len(with_figure)} (intervals meet: {met}; "
        f"half of the predicted ones are wider than {wide}), "
        f"said of repaired programs: {alarms or 'nothing'}, "
        f"without a price here and not heard: {free or 'none'}"
    )


if __name__ == "__main__":
    main()
