"""Two builds of Sonde in one run: what each costs the same program, in turns.

Enters: another clone of Sonde with its native libraries built ("the build before"), a rate, rounds. Leaves: for each
build the share by in-process blocks, the agent's own CPU time, the median times of handler and walk, and the difference
between the builds with its 95 % interval. Each round launches both, in random order, under one interpreter and torch;
the difference is taken within a round, so that a drifting machine hurts both alike. Each build reads its own recording.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lib.peers import LOOP
from sonde.analyze.recording.overhead import typical

HERE = Path(__file__).parents[2]
FEWEST_ROUNDS = 6  # below, an interval by ranks is the range


@dataclass(frozen=True)
class Measured:
    """One launch of one build."""

    share: float  # of the program's CPU time, by blocks
    pairs: int
    own_share: (
        float  # of it in handlers and in the agent's thread, by their own clocks; without the kernel's part
    )
    handler_p50_ns: float
    walk_p50_ns: float


@dataclass(frozen=True)
class Compared:
    """Both builds over all rounds; each of the last four is an estimate with its 95 % interval."""

    rate_hz: int
    seconds: float
    builds: dict[str, str]
    launches: dict[str, list[Measured]]
    share_added: tuple[float, float, float]  # this less that
    own_ratio: tuple[float, float, float]  # this over that
    walk_ratio: tuple[float, float, float]
    handler_ratio: tuple[float, float, float]

    @property
    def costs_more(self) -> bool:
        return self.share_added[1] > 0 or self.own_ratio[1] > 1 or self.walk_ratio[1] > 1


def beside(clone: Path, rate_hz: int, seconds: float, rounds: int) -> Compared:
    """Both builds on the op-dense loop, `rounds` times for `seconds` of CPU time."""
    if not (clone / "sonde/_native/libsonde_agent.so").exists():
        raise SystemExit(f"{clone} has no native libraries: run make native there")
    if rounds < FEWEST_ROUNDS:
        raise SystemExit(f"{rounds} rounds are too few for an interval; {FEWEST_ROUNDS} are the least")
    roots = {"this": HERE, "that": clone.resolve()}
    found: dict[str, list[Measured]] = {name: [] for name in roots}
    order = random.Random(1)
    for number in range(rounds):
        for name in order.sample(sorted(roots), len(roots)):
            found[name].append(launch(roots[name], rate_hz, seconds))
        shares = "  ".join(f"{name} {rows[-1].share:+.2%}" for name, rows in found.items())
        print(f"round {number + 1:2}  {shares}", flush=True)
    pairs = list(zip(found["this"], found["that"], strict=True))
    return Compared(
        rate_hz,
        seconds,
        {name: commit_of(root) for name, root in roots.items()},
        found,
        typical(np.array([a.share - b.share for a, b in pairs])),
        _ratio([a.own_share / b.own_share for a, b in pairs]),
        _ratio([a.walk_p50_ns / b.walk_p50_ns for a, b in pairs]),
        _ratio([a.handler_p50_ns / b.handler_p50_ns for a, b in pairs]),
    )


def show(compared: Compared) -> None:
    for name, rows in compared.launches.items():
        share, own, handler, walk = (
            statistics.median(getattr(row, figure) for row in rows)
            for figure in ("share", "own_share", "handler_p50_ns", "walk_p50_ns")
        )
        times = f"handler {handler / 1e3:.1f} µs, walk {walk / 1e3:.1f} µs"
        print(f"{name} ({compared.builds[name]}): {share:+.2%} by blocks, own CPU time {own:.2%}, {times}")
    print("this less that, by blocks: {:+.2%}  [{:+.2%}, {:+.2%}]".format(*compared.share_added))
    print("own CPU time of this over that: {:.3f}  [{:.3f}, {:.3f}]".format(*compared.own_ratio))
    print("walk of this over that: {:.3f}  [{:.3f}, {:.3f}]".format(*compared.walk_ratio))
    print("handler of this over that: {:.3f}  [{:.3f}, {:.3f}]".format(*compared.handler_ratio))


def _ratio(values: list[float]) -> tuple[float, float, float]:
    centre, low, high = (float(value) for value in np.exp(typical(np.log(values))))
    return centre, low, high


def launch(root: Path, rate_hz: int, seconds: float) -> Measured:
    """The loop under the Sonde of `root`, which also says what it cost."""
    with tempfile.TemporaryDirectory(prefix="sonde-beside-") as folder:
        output = Path(folder) / "blocks.sonde"
        sonde = [sys.executable, "-m", "sonde"]
        environment = {**os.environ, "PYTHONPATH": str(root)}
        options = ["--quiet", "--blocks", "--window", "none", "--rate", str(rate_hz), "-o", str(output)]
        command = [*sonde, "run", *options, str(LOOP), "op_dense", str(seconds)]
        # In a folder that holds no clone: `-m` looks there before PYTHONPATH.
        subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
        shown = [*sonde, "show", str(output), "quality", "--json"]
        done = subprocess.run(shown, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        quality = json.loads(done.stdout)["overhead"]
        if quality["method"] != "blocks":
            raise SystemExit(f"too few blocks in {seconds} s: {quality}")
        details = json.loads((output / "meta.json").read_text(encoding="utf-8"))["details"]
        (agent,) = details["agent"].values()
        cpu_ns = details["rusage"]["user_ns"] + details["rusage"]["system_ns"]
        own_share = (agent["handler_ns"] + agent["background_cpu_ns"]) / cpu_ns
        times = agent["handler_p50_ns"], agent["walk_p50_ns"]
        return Measured(quality["share"], quality["pairs"], own_share, *times)


def commit_of(root: Path) -> str:
    """The commit of a clone, with a mark where files were changed since."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=7"], cwd=root, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"
