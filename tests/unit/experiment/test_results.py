"""Results that may differ and results that may not."""

from __future__ import annotations

import pytest

from sonde.experiment.measure.launches import judge_disturbance
from sonde.experiment.measure.results import agree, printed_results


def test_only_quality_is_kept() -> None:
    text = "step 3 loss 0.5123, 12.3 ms/step\nepoch took 4.2 s\nfinal accuracy: 0.91  train_loss=1e-3\n"
    assert printed_results(text) == "loss=0.5123 accuracy=0.91 loss=1e-3"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("loss=0.5000", "loss=0.5001", True),
        ("loss=0.50", "loss=0.60", False),
        ("loss=0.5", "acc=0.5", False),
        ("loss=0.5", "loss=0.5 loss=0.4", False),
        ("loss=nan", "loss=0.4", False),
        ("loss=nan", "loss=nan", True),
        ("", "", True),
    ],
)
def test_agreement(a: str, b: str, same: bool) -> None:
    assert agree(a, b) is same


def test_disturbance_rules() -> None:
    calm = {"throttled": 0.0, "steal": 0.0, "all": 100.0}
    assert judge_disturbance(calm, {"throttled": 0.1, "steal": 0.1, "all": 110.0}, 5.0) == ""
    assert "throttled 20%" in judge_disturbance(calm, {"throttled": 1.0, "steal": 0.0, "all": 110.0}, 5.0)
    assert "steal 20%" in judge_disturbance(calm, {"throttled": 0.0, "steal": 2.0, "all": 110.0}, 5.0)
