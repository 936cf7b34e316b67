"""The tuner on made-up programs whose best setting is known."""

from __future__ import annotations

import numpy as np

from sonde.experiment.arm import Arm, Measurement
from sonde.experiment.knobs import KNOBS, Knob, Place, Setting
from sonde.experiment.paired import Paired
from sonde.experiment.tune import tune

PLACE = Place(effective_cpus=8, physical_cores=4)
BASE = Arm("as is", ("prog",), {"OMP_NUM_THREADS": "16"})


class Program:
    """4 threads are best, 16 are terrible; passive waiting wins 10 %; nothing else matters."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.launches = 0

    def time_ms(self, arm: Arm) -> float:
        by_threads = {"1": 40.0, "2": 22.0, "4": 12.0, "8": 14.0, "16": 60.0}
        value = by_threads[arm.environment["OMP_NUM_THREADS"]]
        return value * (0.9 if arm.environment.get("OMP_WAIT_POLICY") == "PASSIVE" else 1.0)

    def __call__(self, arm: Arm, padding: int) -> Measurement:
        self.launches += 1
        return Measurement(self.time_ms(arm) * self.rng.lognormal(0, 0.01), 50, 0, "loss 0.5")


def test_finds_the_best_of_the_grid() -> None:
    program = Program()
    found = tune(BASE, PLACE, Paired(program))
    assert found.best.environment["OMP_NUM_THREADS"] == "4"
    assert found.best.environment["OMP_WAIT_POLICY"] == "PASSIVE"
    assert found.confirmed is not None
    assert found.confirmed.verdict.word == "faster"
    ratio = found.confirmed.verdict.ratio
    assert ratio.low <= 12.0 * 0.9 / 60.0 <= ratio.high
    assert not found.out_of_time


def test_settings_that_cannot_work_are_listed_with_the_reason() -> None:
    found = tune(BASE, PLACE, Paired(Program()))
    impossible = {t.setting.name: t.note for t in found.trials if t.setting.impossible}
    assert impossible["one NUMA node"] == "there is one NUMA node"
    assert all(t.comparison is None for t in found.trials if t.setting.impossible)


def test_nothing_better_is_an_answer() -> None:
    found = tune(
        Arm("as is", ("prog",), {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "PASSIVE"}),
        PLACE,
        Paired(Program()),
        KNOBS[:1],
    )
    assert found.best.name == "as is"
    assert found.confirmed is None


def test_a_faster_setting_that_changes_results_is_refused() -> None:
    def measure(arm: Arm, padding: int) -> Measurement:
        quick = "QUICK" in arm.environment
        return Measurement((5.0 if quick else 10.0) + padding * 1e-6, 50, 0, "loss 9" if quick else "loss 1")

    knob = Knob("quick", lambda place: [Setting("quick", {"QUICK": "1"})])
    found = tune(Arm("as is", ("prog",)), PLACE, Paired(measure), [knob])
    assert found.best.name == "as is"
    assert [t.note for t in found.trials] == ["the program's results change"]


def test_out_of_time_keeps_what_is_known() -> None:
    program = Program()
    found = tune(BASE, PLACE, Paired(program, out_of_time=lambda: program.launches > 40))
    assert found.out_of_time
    assert program.launches < 80
