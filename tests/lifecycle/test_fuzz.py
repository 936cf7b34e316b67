"""A short form of the campaign of tests/fuzz: some hundred inputs for each reader, of a fixed and of a fresh seed."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.campaign import report, run
from tests.fuzz.readers import READERS, Reader

FRESH = random.SystemRandom().randrange(2**31)
COUNTS = {"parquet": 60, "zip": 60, "rawlog": 200, "tables, then used": 60}
COUNTS |= {"kineto": 250, "traces, then used": 120, "profiles, then used": 200}


@pytest.mark.parametrize("seed", [7, FRESH], ids=["fixed", "fresh"])
@pytest.mark.parametrize("reader", READERS, ids=lambda r: r.name)
def test_mutated_inputs_end_in_tables_or_in_one_line(reader: Reader, seed: int) -> None:
    result = run(reader, seed, COUNTS.get(reader.name, 500), seconds=20)
    assert not result.findings, f"seed {seed}\n{report([result])}\n{result.findings[0]}"
    assert result.inputs > 10
    assert result.outcomes["refused"] > 0  # the mutations do bite
    assert result.peak_mb < 1000
