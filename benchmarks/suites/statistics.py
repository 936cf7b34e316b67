"""How often each design of a comparison is wrong, and how often it finds what is there.

Usage: python -m benchmarks statistics [--trials 200] [--first-seed 0]  synthetic drift; about half a minute of CPU time
       python -m benchmarks statistics series --trials 300   real launches back to back, replayed to each design
       python -m benchmarks statistics aa|planted|grid|tune|repair …  real programs; see --help of each

Synthetic: a machine that drifts, shifts and spikes (trials/machine.py) runs A and B; B is slower by 0, 1, 3 or
10 %. Ours is the engine of `sonde prove` itself, noise floor included; the others are the designs of hyperfine
(all runs of A, then all of B; Welch's t) and pyperf (20 processes of 3 values each, file after file;
t-test). Printed: the share of trials called different, with its exact 95 % interval, and launches used.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.lib.environment import write
from benchmarks.lib.trials.machine import Machine
from benchmarks.lib.trials.series import Series, starts
from benchmarks.lib.trials.share import interval_of_share
from sonde.experiment.design.arm import Arm, Measurement
from sonde.experiment.measure.paired import FLOOR_PAIRS, Paired
from sonde.statistics.groups import welch
from sonde.statistics.verdict import LOOKS

LONGEST_DESIGN = 2 * (FLOOR_PAIRS + LOOKS[-1])  # launches
EFFECTS = (0.0, 0.01, 0.03, 0.10)
Noise = Machine | Series
A, B = Arm("A", ("a",)), Arm("B", ("b",))
Design = Callable[[Noise, float], tuple[bool, int]]  # called different?, launches used


def ours(machine: Noise, effect: float) -> tuple[bool, int]:
    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement(machine.launch(effect if arm is B else 0.0), 30, 0, "")

    engine = Paired(measure, seed=machine.seed)
    found = engine.compare(A, B, engine.noise_floor(A))
    return found.verdict.word in ("faster", "slower"), machine.launches


def hyperfine(machine: Noise, effect: float) -> tuple[bool, int]:
    """Ten runs of A, then ten of B; its own t-test script at 5 %."""
    a = np.array([[machine.launch(0.0) for _ in range(10)]])
    b = np.array([[machine.launch(effect) for _ in range(10)]])
    return bool(welch(a, b).p[0] <= 0.05), machine.launches


def pyperf(machine: Noise, effect: float) -> tuple[bool, int]:
    """Twenty processes of three values for A, then for B; t-test over all values at 5 %."""
    sides = []
    for change in (0.0, effect):
        values: list[float] = []
        for _ in range(20):
            process = machine.launch(change)
            values += (process * machine.rng.lognormal(0, 0.005, 3)).tolist()
        sides.append(np.array([values]))
    return bool(welch(sides[0], sides[1]).p[0] <= 0.05), machine.launches


DESIGNS: dict[str, Design] = {"sonde": ours, "hyperfine": hyperfine, "pyperf": pyperf}


def synthetic(trials: int, first_seed: int) -> list[dict[str, object]]:
    """One row per design and effect, on machines made up from consecutive seeds."""
    seeds = range(first_seed, first_seed + trials)
    return [{**row, "first_seed": first_seed} for row in designs(lambda: (Machine(seed) for seed in seeds))]


def replayed(times_ms: Sequence[float]) -> list[dict[str, object]]:
    """One row per design and effect, on real launches. Trials overlap: their intervals are too narrow."""
    return designs(lambda: (Series(times_ms, start) for start in starts(len(times_ms), LONGEST_DESIGN)))


def designs(machines: Callable[[], Iterator[Noise]]) -> list[dict[str, object]]:
    """Every design at every effect on the same machines."""
    rows: list[dict[str, object]] = []
    for name, design in DESIGNS.items():
        for effect in EFFECTS:
            outcomes = [design(machine, effect) for machine in machines()]
            called, trials = sum(different for different, _ in outcomes), len(outcomes)
            low, high = interval_of_share(called, trials)
            launches = float(np.mean([used for _, used in outcomes]))
            rows.append(
                {"design": name, "effect": effect, "trials": trials, "called_different": called / trials,
                 "low": low, "high": high, "mean_launches": launches}
            )  # fmt: skip
            print(
                f"{name:10} planted {effect:4.0%}: different in {called / trials:6.1%} "
                f"[{low:.1%}, {high:.1%}], {launches:.0f} launches",
                flush=True,
            )
    return rows


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0, help="another one makes other machines")
    sub = parser.add_subparsers(dest="campaign")
    from benchmarks.lib.trials import campaigns

    campaigns.add_parsers(sub)
    series = campaigns.add_series(sub)
    series.set_defaults(run=lambda options: campaigns.real_series(options, replayed))
    options = parser.parse_args(words)
    if options.campaign:
        options.run(options)
        return
    print(write("statistics", {"rows": synthetic(options.trials, options.first_seed)}))


if __name__ == "__main__":
    main()
