"""From an insight to two arms, and from a comparison to a proof."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.errors import InputError, UsageError
from sonde.experiment.design.arm import Arm, Measurement
from sonde.experiment.measure.paired import Paired
from sonde.experiment.proving.proof import outcome_of, predicted_of
from sonde.experiment.proving.prove import arms_of, flip_measure, prove, taken_back
from sonde.insights.model import Experiment, Insight, Saving

COMMAND = ("python", "train.py")


def insight(experiment: Experiment, saving: Saving | None) -> Insight:
    return Insight("slow_thing", "t", "w", (), saving, "high", "fix", experiment)


def test_arms_of_each_kind() -> None:
    before, after = arms_of(Experiment("environment", {"OMP_NUM_THREADS": "2", "MKL_DEBUG": None}), COMMAND)
    assert (before.environment, after.environment) == ({}, {"OMP_NUM_THREADS": "2"})
    assert after.unset == ("MKL_DEBUG",)
    _, after = arms_of(Experiment("flag", code="torch.set_flush_denormal(True)"), COMMAND)
    assert after.inside["code"] == "torch.set_flush_denormal(True)"
    _, after = arms_of(Experiment("arguments", target="a.B", arguments={"x": 1}), COMMAND)
    assert after.inside["patches"] == [{"target": "a.B", "arguments": {"x": 1}}]
    for kind in ("patch", "replay"):
        with pytest.raises(UsageError, match=kind):
            arms_of(Experiment(kind), COMMAND)  # type: ignore[arg-type]
    assert before.key != after.key


def test_only_switches_that_can_be_taken_back_flip() -> None:
    assert taken_back("torch.set_flush_denormal(True)") == "torch.set_flush_denormal(False)"
    assert taken_back("torch.set_num_threads(2)") is None
    before, after = arms_of(Experiment("flag", code="torch.set_flush_denormal(True)"), COMMAND)
    assert flip_measure(before, after, 10, 0) is not None
    before, after = arms_of(Experiment("environment", {"A": "1"}), COMMAND)
    assert flip_measure(before, after, 10, 0) is None


def test_predicted_against_measured() -> None:
    rng = np.random.default_rng(0)

    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement((8.0 if arm.code else 10.0) * rng.lognormal(0, 0.005), 50, 0, "loss=1", applied=1)

    given = insight(Experiment("flag", code="torch.set_flush_denormal(True)"), Saving(1.0, 3.0, 10.0))
    before, after = arms_of(given.experiment, COMMAND)
    proof = prove(before, after, Paired(measure), given)
    assert predicted_of(given) == (0.1, 0.3)
    assert proof.word == "proved"
    assert proof.low is not None
    assert proof.high is not None
    assert proof.low <= 0.2 <= proof.high
    line = outcome_of(proof, "train.py", given)
    assert (line.rule, line.judged, line.kind) == ("slow_thing", "held", "flag")


def test_a_change_that_never_took_effect_is_an_error() -> None:
    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement(10.0, 50, 0, "", applied=0 if arm.patches else -1)

    before, after = arms_of(Experiment("arguments", target="a.B", arguments={"x": 1}), COMMAND)
    with pytest.raises(InputError, match="had no effect"):
        Paired(measure).compare(before, after)


def test_changed_results_prove_nothing() -> None:
    def measure(arm: Arm, padding: int) -> Measurement:
        return Measurement(
            (5 if arm.environment else 10) + padding * 1e-6, 50, 0, f"loss={len(arm.environment)}"
        )

    before, after = arms_of(Experiment("environment", {"A": "1"}), COMMAND)
    assert prove(before, after, Paired(measure), None, "own").word == "results differ"
