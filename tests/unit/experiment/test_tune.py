"""The tuner on made-up programs whose best setting is known."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.experiment.design.arm import Arm, Measurement
from sonde.experiment.measure.paired import Paired
from sonde.experiment.tuning.knobs import KNOBS, Knob, Place, Setting
from sonde.experiment.tuning.tune import tune

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


def test_pairs_go_where_a_gain_is_in_sight() -> None:
    """On a noisy machine three settings that change nothing cost few pairs; one that wins 6 % is still found."""
    rng = np.random.default_rng(3)
    launches: dict[str, int] = {}

    def measure(arm: Arm, padding: int) -> Measurement:
        launches[arm.name] = launches.get(arm.name, 0) + 1
        return Measurement((9.4 if "GAIN" in arm.environment else 10.0) * rng.lognormal(0, 0.02), 50, 0, "")

    def knob(name: str) -> Knob:
        return Knob(name, lambda place: [Setting(name, {name: "1"})])

    found = tune(
        Arm("as is", ("prog",)),
        PLACE,
        Paired(measure),
        [knob(n) for n in ("IDLE1", "IDLE2", "IDLE3", "GAIN")],
    )
    assert [setting.name for setting in found.kept] == ["GAIN"]
    assert found.confirmed is not None
    assert found.confirmed.verdict.word == "faster"
    idle = [launches[n] for n in ("IDLE1", "IDLE2", "IDLE3")]
    assert sum(idle) <= 3 * 8, idle


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


def test_a_short_budget_keeps_time_for_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    monkeypatch.setattr("sonde.experiment.measure.paired.time.monotonic", lambda: float(program.launches))
    engine = Paired(
        program, out_of_time=lambda: program.launches > 70, seconds_left=lambda: 70.0 - program.launches
    )
    found = tune(BASE, PLACE, engine)
    assert found.out_of_time
    assert found.confirmed is not None
    assert (found.confirmed.verdict.word, found.confirmed.verdict.pairs) == ("faster", 8)
    assert "no time left" in {t.note for t in found.trials}
    assert program.launches <= 70


def test_what_the_journal_has_is_told_when_time_is_up() -> None:
    late = []
    engine = Paired(Program(), out_of_time=lambda: bool(late))
    other = Arm("4", ("prog",), {"OMP_NUM_THREADS": "4"})
    engine.compare(BASE, other, looks=(6,))
    late.append(True)
    assert engine.compare(BASE, other, looks=(6, 10)).verdict.pairs == 6


def test_a_crashing_setting_is_named_and_the_rest_goes_on() -> None:
    program = Program()

    def measure(arm: Arm, padding: int) -> Measurement:
        if arm.environment.get("OMP_WAIT_POLICY"):
            return Measurement(1.0, 0, -11, "boom")
        return program(arm, padding)

    found = tune(BASE, PLACE, Paired(measure), KNOBS[:1] + KNOBS[3:4])
    notes = {t.setting.name: t.note for t in found.trials}
    assert "killed by signal 11: boom" in notes["passive waiting"]
    assert found.best.environment["OMP_NUM_THREADS"] == "4"


def test_single_socket_and_all_are_always_tried() -> None:
    place = Place(
        effective_cpus=64, physical_cores=32, packages=2, nodes=(tuple(range(32)), tuple(range(32, 64)))
    )
    counts = {int(s.environment["OMP_NUM_THREADS"]) for s in KNOBS[0].settings(place)}
    assert {1, 16, 32, 64} <= counts
    tight = Place(effective_cpus=3, physical_cores=3, cpus=tuple(range(64)), quota=3.5)
    assert max(int(s.environment["OMP_NUM_THREADS"]) for s in KNOBS[0].settings(tight)) == 3


def test_what_the_shell_sets_is_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setenv("MKL_NUM_THREADS", "4")
    found = tune(Arm("as is", ("prog",), {"OMP_NUM_THREADS": "4"}), PLACE, Paired(Program()), KNOBS[:1])
    assert {t.setting.name: t.note for t in found.trials}["4 threads"] == "that is what it has"


def test_loader_workers_only_where_there_is_a_loader() -> None:
    knob = next(k for k in KNOBS if k.name == "workers")
    found = tune(BASE, PLACE, Paired(Program()), [knob])
    assert {t.note for t in found.trials} == {"the program uses no DataLoader"}

    def loading(arm: Arm, padding: int) -> Measurement:
        counts = [p.arguments["num_workers"] for p in arm.patches]
        return Measurement(
            (5.0 if counts == [4] else 10.0) + padding * 1e-6, 50, 0, "", loads=True, applied=1
        )

    best = tune(BASE, PLACE, Paired(loading), [knob])
    assert best.best.patches[0].arguments == {"num_workers": 4}
    assert best.kept[0].by_hand == "DataLoader(…, num_workers=4)"


def test_place_obeys_quota_and_cpuset() -> None:
    from sonde.experiment.design.place import this_place

    place = this_place()
    assert 1 <= place.physical_cores <= place.effective_cpus <= len(place.cpus)


def test_the_number_of_threads_that_it_has_by_itself_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)

    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement(
            1.0 + padding * 1e-7, 30, 0, "", threads=int(arm.environment.get("OMP_NUM_THREADS", 4))
        )

    found = tune(Arm("as is", ("prog",)), PLACE, Paired(measure), KNOBS[:1])
    notes = {trial.setting.name: trial.note for trial in found.trials}
    assert notes["4 threads"] == "that is what it has"
    assert notes["1 thread"] != "that is what it has"
