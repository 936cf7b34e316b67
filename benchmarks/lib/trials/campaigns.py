"""Real campaigns of many trials on this machine, in portions: each trial is kept as soon as it has ended.

Every campaign reads its state folder first and goes on where it stopped; `--minutes` ends a portion. They want
a quiet machine; what was loaded at the time is kept with each trial.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.environment import write
from benchmarks.lib.trials.share import interval_of_share
from sonde.experiment.design.arm import Arm
from sonde.experiment.design.place import this_place
from sonde.experiment.measure.launches import LaunchMeasure
from sonde.experiment.measure.paired import Paired
from sonde.experiment.proving.journal import Journal
from sonde.experiment.tuning.knobs import KNOBS, Place, Setting
from sonde.experiment.tuning.tune import tune

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
PROGRAMS = {
    "inference": (sys.executable, str(WORKLOADS / "inference.py"), "250"),
    "mlp": (sys.executable, str(EXAMPLES / "mlp.py"), "--steps", "200"),
    "convnet": (
        sys.executable,
        str(EXAMPLES / "convnet.py"),
        "--steps",
        "100",
        "--batch",
        "8",
        "--width",
        "16",
    ),
}
# A slow-down by a share of each step's own time, so that it is the same on a machine that drifts. By the thread's
# clock: a program that takes turns with another must not pay for the time in which it stands. And on one thread: with
# two, the other falls asleep while this one spins, and 5 % become 11 %.
PLANTED = """
import time
from torch.optim.optimizer import register_optimizer_step_post_hook
last = [0.0]
def slow(optimizer, args, kwargs):
    if last[0]:
        end = time.perf_counter() + {share} * (time.thread_time() - last[0])
        while time.perf_counter() < end: pass
    last[0] = time.thread_time()
register_optimizer_step_post_hook(slow)
"""
# Most often there is nothing to find, and to bound a difference that is not there takes more pairs than to see one.
VERSUS_LOOKS = (8, 16, 24, 40, 60)
GRID_KNOBS = ("threads", "waiting", "placement", "allocator", "huge pages")


def add_parsers(sub: Any) -> None:
    for name, run, line in (
        ("aa", real_aa, "A against A on a real program: how often is it called different?"),
        ("planted", real_planted, "a planted slow-down of a real program: how often is it found?"),
        ("grid", real_grid, "every combination of settings, measured separately"),
        ("tune", real_tune, "the tuner against that grid"),
        ("repair", real_repair, "start with OMP_NUM_THREADS=16: is it repaired?"),
    ):
        parser = _add_campaign(sub, name, line, {"aa": 20, "planted": 10}.get(name, 1))
        parser.add_argument("--share", type=float, default=0.05, help="planted slow-down")
        parser.add_argument("--rounds", type=int, default=4, help="launches per combination of the grid")
        parser.set_defaults(run=run)


def add_series(sub: Any) -> argparse.ArgumentParser:
    return _add_campaign(
        sub, "series", "launches of a real program back to back, replayed to every design", 300
    )


def _add_campaign(sub: Any, name: str, line: str, trials: int) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = sub.add_parser(name, help=line, description=line)
    parser.add_argument("--program", choices=list(PROGRAMS), default="mlp")
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--minutes", type=float, default=8.0, help="start no trial after this time")
    parser.add_argument("--state", type=Path, default=Path("/tmp/sonde-statistics"))
    return parser


class Kept:
    """Lines of JSON in the state folder, one per finished trial."""

    def __init__(self, options: argparse.Namespace, name: str) -> None:
        self.path: Path = options.state / f"{name}-{options.program}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.end = time.monotonic() + options.minutes * 60

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        with self.path.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)

    @property
    def time_left(self) -> bool:
        return time.monotonic() < self.end


def _arm(program: str) -> Arm:
    return Arm("as is", PROGRAMS[program])


def _trial(a: Arm, b: Arm, seed: int) -> dict[str, Any]:
    start = time.monotonic()
    engine = Paired(LaunchMeasure(timeout_s=120), Journal(), seed=seed)
    floor = engine.noise_floor(a)
    found = engine.compare(a, b, floor)
    ratio = found.verdict.ratio
    return {
        "seed": seed, "word": found.verdict.word, "ratio": ratio.estimate, "low": ratio.low,
        "high": min(ratio.high, 1e9), "floor": floor, "pairs": found.verdict.pairs, "discarded": found.discarded,
        "seconds": time.monotonic() - start, "load": os.getloadavg()[0], "step_ms": found.a_ms,
        "ratios": [round(ratio, 4) for ratio in found.ratios],
    }  # fmt: skip


def _run_trials(kept: Kept, count: int, a: Arm, b: Arm, first_seed: int) -> None:
    while len(kept.rows) < count and kept.time_left:
        kept.add(_trial(a, b, first_seed + len(kept.rows)))


def _summary(kept: Kept, name: str, hit: str, wanted: int, **more: Any) -> None:
    hits, count = sum(r["word"] in hit.split() for r in kept.rows), len(kept.rows)
    if count:
        low, high = interval_of_share(hits, count)
        longest = max(r["seconds"] for r in kept.rows)
        print(f"{name}: {hit} in {hits} of {count} trials [{low:.0%}, {high:.0%}]; longest {longest:.0f} s")
    if count >= wanted:
        print(write(f"statistics-{name}", {"hits": hits, "trials": kept.rows, **more}))
    else:
        print(f"{wanted - count} trials to go: run it again")


def real_aa(options: argparse.Namespace) -> None:
    kept, arm = Kept(options, "aa"), _arm(options.program)
    _run_trials(kept, options.trials, arm, replace(arm, name="as is again"), 1000)
    _summary(kept, f"aa-{options.program}", "faster slower", options.trials)


def real_planted(options: argparse.Namespace) -> None:
    kept = Kept(options, f"planted-{options.share:g}")
    arm = replace(_arm(options.program), environment={"OMP_NUM_THREADS": "1"})
    slowed = replace(arm, name="slowed", code=PLANTED.replace("{share}", str(options.share)))
    _run_trials(kept, options.trials, arm, slowed, 2000)
    _summary(kept, f"planted-{options.program}", "slower", options.trials, share=options.share)


def real_series(
    options: argparse.Namespace, replayed: Callable[[Sequence[float]], list[dict[str, object]]]
) -> None:
    """The designs are the caller's; here are the launches."""
    kept, arm, measure = Kept(options, "series"), _arm(options.program), LaunchMeasure(timeout_s=120)
    while len(kept.rows) < options.trials and kept.time_left:
        found = measure(arm, (len(kept.rows) * 977) % 4096)
        if found.exit_code != 0:
            raise SystemExit(f"{options.program} ended with exit code {found.exit_code}: {found.result}")
        kept.add({"ms": found.value_ms, "seconds": found.seconds})
    times_ms = [row["ms"] for row in kept.rows]
    if len(times_ms) < options.trials:
        print(f"{options.trials - len(times_ms)} launches to go: run it again")
        return
    print(write(f"statistics-series-{options.program}", {"times_ms": times_ms, "rows": replayed(times_ms)}))


def combinations(place: Place) -> list[tuple[Setting, ...]]:
    """Every combination of the possible settings of the grid's knobs; threads always set, the rest also as is."""
    choices: list[list[Setting | None]] = []
    for knob in (k for k in KNOBS if k.name in GRID_KNOBS):
        possible: list[Setting | None] = [s for s in knob.settings(place) if not s.impossible]
        choices.append(possible if knob.name == "threads" else [None, *possible])
    return [tuple(s for s in chosen if s is not None) for chosen in itertools.product(*choices)]


def _combined(base: Arm, chosen: tuple[Setting, ...]) -> Arm:
    for setting in chosen:
        base = setting.on(base)
    return base


def _grid_order(arms: list[Arm], rounds: int) -> Iterator[tuple[int, Arm]]:
    for number in range(rounds):
        for i in np.random.default_rng(number).permutation(len(arms)).tolist():
            yield number, arms[i]


def real_grid(options: argparse.Namespace) -> None:
    kept, base = Kept(options, "grid"), _arm(options.program)
    arms = [_combined(base, chosen) for chosen in combinations(this_place())]
    measure = LaunchMeasure(timeout_s=120)
    order = list(_grid_order(arms, options.rounds))
    for number, arm in order[len(kept.rows) :]:
        if not kept.time_left:
            break
        start = time.monotonic()
        found = measure(arm, (len(kept.rows) * 977) % 4096)
        if found.exit_code != 0:
            raise SystemExit(f"{arm.name}: ended with exit code {found.exit_code}: {found.result}")
        kept.add(
            {"round": number, "arm": arm.name, "ms": found.value_ms, "seconds": time.monotonic() - start}
        )
    spent = sum(r["seconds"] for r in kept.rows)
    print(f"{len(kept.rows)} of {len(order)} launches, {spent:.0f} s")
    for name, ratio in _grid_best(kept.rows)[:5]:
        print(f"  {ratio:.3f} of the round's median  {name}")


def _grid_best(rows: list[dict[str, Any]]) -> list[tuple[str, float]]:
    """Arms by their median over rounds, each relative to its round."""
    middle = {
        n: float(np.median([r["ms"] for r in rows if r["round"] == n])) for n in {r["round"] for r in rows}
    }
    by_arm: dict[str, list[float]] = {}
    for row in rows:
        by_arm.setdefault(row["arm"], []).append(row["ms"] / middle[row["round"]])
    return sorted(((name, float(np.median(v))) for name, v in by_arm.items()), key=lambda item: item[1])


def real_tune(options: argparse.Namespace) -> None:
    """Run the grid first. Tunes (resumable), then compares the winner with the grid's best on fresh pairs."""
    grid, kept, base = Kept(options, "grid"), Kept(options, "tune"), _arm(options.program)
    start = time.monotonic()
    journal = Journal(options.state / f"tune-{options.program}.journal")
    end = start + options.minutes * 60
    engine = Paired(LaunchMeasure(timeout_s=120), journal, out_of_time=lambda: time.monotonic() > end)
    place = this_place()
    tuned = tune(base, place, engine, [k for k in KNOBS if k.name in GRID_KNOBS])
    # All launches, those of earlier portions included.
    spent = sum(e.measurement.seconds for e in journal.entries)
    if tuned.out_of_time:
        print(f"{len(journal.entries)} launches so far, {spent:.0f} s: run it again")
        return
    best_name = _grid_best(grid.rows)[0][0]
    by_name = {_combined(base, c).name: _combined(base, c) for c in combinations(place)}
    versus = Paired(
        LaunchMeasure(timeout_s=120), Journal(options.state / f"versus-{options.program}.journal")
    )
    found = versus.compare(by_name[best_name], replace(tuned.best, name="tuned"), 0.03, VERSUS_LOOKS)
    gain = tuned.confirmed.verdict if tuned.confirmed else None
    grid_s = sum(r["seconds"] for r in grid.rows)
    row = {
        "tuned": tuned.best.name, "gain": gain.ratio.estimate if gain else 1.0,
        "gain_word": gain.word if gain else "nothing better", "tune_s": spent, "launches": len(journal.entries),
        "grid_s": grid_s, "grid_launches": len(grid.rows), "grid_best": best_name,
        "tuned_against_grid_best": found.verdict.word, "ratio": found.verdict.ratio.estimate,
        "low": found.verdict.ratio.low, "high": found.verdict.ratio.high, "time_share": spent / max(grid_s, 1e-9),
    }  # fmt: skip
    kept.add(row)
    print(write(f"statistics-tune-{options.program}", row))


def real_repair(options: argparse.Namespace) -> None:
    """OMP_NUM_THREADS=16 as the start, and meant: alone it is harmless, MKL gives torch no more than the cores."""
    kept = Kept(options, "repair")
    base = replace(_arm(options.program), environment={"OMP_NUM_THREADS": "16", "MKL_DYNAMIC": "FALSE"})
    journal = Journal(options.state / f"repair-{options.program}.journal")
    end = time.monotonic() + options.minutes * 60
    engine = Paired(LaunchMeasure(timeout_s=300), journal, out_of_time=lambda: time.monotonic() > end)
    tuned = tune(base, this_place(), engine, [k for k in KNOBS if k.name in ("threads", "waiting")])
    if tuned.out_of_time:
        print(f"{len(journal.entries)} launches so far: run it again")
        return
    gain = tuned.confirmed.verdict if tuned.confirmed else None
    row = {
        "best": tuned.best.name, "environment": tuned.best.environment, "word": gain.word if gain else "nothing better",
        "ratio": gain.ratio.estimate if gain else 1.0, "low": gain.ratio.low if gain else 1.0,
        "high": gain.ratio.high if gain else 1.0, "seconds": sum(e.measurement.seconds for e in journal.entries),
    }  # fmt: skip
    kept.add(row)
    print(write(f"statistics-repair-{options.program}", row))
