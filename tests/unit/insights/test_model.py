"""A saving is a share of the step it is taken from."""

from sonde.insights.model import Saving


def test_share_is_the_middle_of_the_interval() -> None:
    assert Saving(1.0, 3.0, 10.0).share == 0.2


def test_no_step_no_share() -> None:
    assert Saving(1.0, 3.0, 0.0).share == 0.0
