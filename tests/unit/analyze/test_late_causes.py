"""Which of a late rank's excesses is the cause: work of its own, or time that other programs took."""

from __future__ import annotations

import pytest

from sonde.analyze.account.places import NOBODY, Place
from sonde.analyze.ranks.cause import _best

MS = 1e6
WRITE, MODEL = Place("train.py", 70, "step"), Place("train.py", 81, "work")
TAKEN = (NOBODY, "taken")


@pytest.mark.parametrize(("taken_ms", "kind"), [(5.0, "io"), (15.0, "io"), (40.0, "taken")])
def test_a_write_that_only_this_rank_makes_is_the_cause_though_it_waits_for_a_cpu_after_each(
    taken_ms: float, kind: str
) -> None:
    excess = {(WRITE, "io"): 5.2 * MS, TAKEN: taken_ms * MS}
    assert _best(excess, [{(MODEL, "arithmetic"): 10 * MS}])[1] == kind


@pytest.mark.parametrize(("taken_ms", "kind"), [(3.0, "arithmetic"), (15.0, "taken")])
def test_the_same_work_that_takes_a_little_longer_is_not_the_cause_of_what_was_taken(
    taken_ms: float, kind: str
) -> None:
    excess = {(MODEL, "arithmetic"): 5.2 * MS, TAKEN: taken_ms * MS}
    assert _best(excess, [{(MODEL, "arithmetic"): 10 * MS}])[1] == kind


def test_others_that_hardly_work_say_nothing_of_how_much_interruptions_slow() -> None:
    """The other rank waited nearly all the time; the 2 µs that it lost are no measure of anything."""
    sleep = (Place("train.py", 27, "late"), "sleep")
    excess = {sleep: 26 * MS, (MODEL, "dispatch"): 0.2 * MS, TAKEN: 0.2 * MS}
    assert _best(excess, [{(NOBODY, "unseen"): 0.4 * MS, TAKEN: 0.002 * MS}]) == sleep
