"""The engine on made-up machines: right verdicts, resumable, honest about what it discards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sonde.errors import InputError
from sonde.experiment.design.arm import Arm, Measurement
from sonde.experiment.measure.paired import Paired, Progress
from sonde.experiment.proving.journal import Journal

A, B = Arm("now", ("prog",)), Arm("new", ("prog",), {"X": "1"})


class Machine:
    """Drifts by 30 % over the experiment; arm `new` takes `factor` times as long."""

    def __init__(self, factor: float, noise: float = 0.01, seed: int = 0) -> None:
        self.factor, self.noise, self.launches = factor, noise, 0
        self.rng = np.random.default_rng(seed)

    def __call__(self, arm: Arm, padding: int) -> Measurement:
        self.launches += 1
        assert 0 <= padding < 4096
        drift = 1 + 0.006 * self.launches
        value = 10 * drift * self.rng.lognormal(0, self.noise) * (self.factor if arm.name == "new" else 1)
        return Measurement(value, 30, 0, "loss 1.0")


@pytest.mark.parametrize(("factor", "word"), [(0.9, "faster"), (1.1, "slower"), (1.0, "same")])
def test_finds_what_was_planted_in_spite_of_drift(factor: float, word: str) -> None:
    machine = Machine(factor, noise=0.003)
    engine = Paired(machine)
    floor = engine.noise_floor(A)
    outcome = engine.compare(A, B, floor)
    assert outcome.verdict.word == word
    assert outcome.verdict.ratio.low <= factor <= outcome.verdict.ratio.high
    assert outcome.same_result
    assert outcome.discarded == 0


def test_stops_early_when_the_answer_is_clear() -> None:
    machine = Machine(0.5)
    Paired(machine).compare(A, B)
    assert machine.launches == 2 * 8  # the first planned look


def test_an_interrupted_experiment_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first = Machine(0.9)
    seen: list[Progress] = []

    def stop(progress: Progress) -> None:
        seen.append(progress)
        if progress.pairs_done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Paired(first, Journal(path), report=stop).compare(A, B)
    assert first.launches == 8
    with path.open("a") as stream:
        stream.write('{"comparison": "new ag')  # killed while writing
    second = Machine(0.9)
    outcome = Paired(second, Journal(path)).compare(A, B)
    assert outcome.verdict.pairs == (8 + second.launches) // 2
    assert outcome.verdict.word == "faster"


def test_crashing_arm_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")

    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement(1.0, 1, 7 if arm.name == "new" else 0, "")

    with pytest.raises(InputError, match="new: the program ended with exit code 7"):
        Paired(measure, journal).compare(A, B)
    assert all(e.measurement.exit_code == 0 for e in journal.entries)


def test_other_results_are_noticed() -> None:
    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement(1.0 + padding * 1e-6, 1, 0, f"loss {arm.environment.get('X')}")

    assert not Paired(measure).compare(A, B).same_result


def test_disturbed_pairs_are_discarded_and_counted() -> None:
    calls = 0

    def measure(arm: Arm, padding: int) -> Measurement:
        nonlocal calls
        calls += 1
        value = 2.0 if arm.name == "new" else 1.0
        return Measurement(value * (1 + padding * 1e-6), 1, 0, "", "throttled" if calls % 7 == 0 else "")

    outcome = Paired(measure).compare(A, B)
    assert outcome.discarded >= 1
    assert outcome.verdict.word == "slower"


def test_a_machine_that_disturbs_everything_is_refused() -> None:
    with pytest.raises(InputError, match="throttled"):
        Paired(lambda arm, padding: Measurement(1.0, 1, 0, "", "throttled")).compare(A, B)


def test_a_journal_of_another_command_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    Paired(Machine(0.9), Journal(path)).compare(A, B)
    other = Arm("new", ("another",))
    with pytest.raises(InputError, match="another command"):
        Paired(Machine(0.9), Journal(path)).compare(A, other)


def test_steps_and_whole_launches_are_not_mixed() -> None:
    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement(1.0 + padding * 1e-6, 0 if arm.name == "new" else 30, 0, "")

    with pytest.raises(InputError, match="new: some launches had no steady steps"):
        Paired(measure).compare(A, B)
    alone = Paired(lambda arm, padding: Measurement(1.0 + padding * 1e-6, 0, 0, "")).compare(A, B)
    assert alone.unit == "launch"


def test_the_line_knows_the_time_left() -> None:
    seen: list[Progress] = []
    Paired(Machine(1.0), report=seen.append).compare(A, B, looks=(6,))
    assert seen[-1].seconds_left == 0.0
    assert all(p.seconds_left is not None and p.seconds_left >= 0 for p in seen)
