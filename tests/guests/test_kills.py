"""`kill -9` at a few random moments of each phase. `make proofs` tries a thousand of each."""

from __future__ import annotations

import random
import shutil

import pytest

from benchmarks.suites.kills import campaign

MOMENTS = 8


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("phase", ["run", "finalise", "recover"])
def test_what_is_left_by_a_kill_opens_and_lacks_half_a_second_at_most(phase: str) -> None:
    seed = random.randrange(1 << 30)  # new moments each time; the seed repeats them
    broken = [trial for trial in campaign(MOMENTS, 2, seed, [phase]) if not trial.kept_the_promise]
    assert broken == [], f"seed {seed}"
