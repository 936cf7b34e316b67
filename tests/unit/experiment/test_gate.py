"""`sonde bench`: what fails a pull request and what does not, and the forms of the answer."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sonde.experiment.design.arm import Arm, Measurement
from sonde.experiment.gate.gate import gate, status_of
from sonde.experiment.measure.paired import Paired
from sonde.render.text.gate import gate_data, junit, markdown, svg

SCATTER = (0.99, 1.0, 1.01, 1.004, 0.996)


class Machine:
    """Launches nothing: base takes 100 ms, head `factor` times that, with a scatter of one percent."""

    def __init__(self, factor: float, noise: float = 1.0) -> None:
        self.factor, self.noise, self.launches = factor, noise, 0

    def __call__(self, arm: Arm, padding: int) -> Measurement:
        self.launches += 1
        scatter = 1 + (SCATTER[self.launches % 5] - 1) * self.noise
        return Measurement(100 * scatter * (self.factor if arm.name == "head" else 1.0), 50, 0, "loss 1.0")


def result(factor: float, noise: float = 1.0, limit: float = 0.02):  # type: ignore[no-untyped-def]
    engine = Paired(Machine(factor, noise))
    return gate("train", Arm("base", ("x",)), Arm("head", ("x",), revision="new"), engine, limit)


@pytest.mark.parametrize(
    ("factor", "noise", "status"),
    [
        (1.05, 1, "fail"),
        (1.0, 1, "pass"),
        (0.9, 1, "pass"),
        (1.05, 60, "inconclusive"),
        (1.0, 60, "inconclusive"),
    ],
)
def test_only_a_known_slow_down_fails(factor: float, noise: float, status: str) -> None:
    assert result(factor, noise).status == status


def test_a_slow_down_below_the_limit_passes_and_is_said() -> None:
    found = result(1.05, limit=0.10)
    assert found.comparison.verdict.word == "slower"
    assert status_of(found.comparison, 0.10) == "pass"
    assert "within the limit" in found.sentence


def test_every_form_says_the_same() -> None:
    data = gate_data([result(1.05), result(1.0)], "main", "mine")
    assert data["status"] == "fail"
    text = markdown(data)
    assert "this change is slower" in text
    assert f"{data['benchmarks'][0]['comparison']['ratio']:.3f}×" in text
    suite = ElementTree.fromstring(junit(data))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert len(ElementTree.fromstring(svg(data)).findall("{*}circle")) == 2
