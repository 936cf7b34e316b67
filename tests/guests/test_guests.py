"""Guests of the standard library, once at 1000 Hz: as without Sonde. `make proofs` runs all of them, more often."""

from __future__ import annotations

import sys

import pytest

from benchmarks.suites.guests import entertain, missing
from tests.guests.roster import BUILT_IN, Guest


@pytest.mark.parametrize("guest", BUILT_IN, ids=lambda guest: guest.name)
def test_a_guest_is_as_without_sonde(guest: Guest) -> None:
    if lacks := missing(guest, sys.executable):
        pytest.skip(f"needs {', '.join(lacks)}")
    without, profiled = entertain(guest, sys.executable, rounds=1, rates_hz=[1000])
    assert (without.identical, profiled.differences) == (1, [])
    assert profiled.fewest_samples > 0
