"""No rule ever fails on a partial recording: it finds nothing, or says what is missing."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.insights.engine import judge
from sonde.store import build
from sonde.store.recording import Recording
from sonde.store.schema import TABLES
from tests.fixtures.synthetic import training_run


@lru_cache(maxsize=1)
def whole() -> Recording:
    return training_run(steps=12, sample_hz=200)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    missing=st.sets(st.sampled_from(sorted(TABLES)), max_size=8),
    cut=st.dictionaries(st.sampled_from(sorted(TABLES)), st.floats(0, 1), max_size=4),
    steps=st.integers(0, 12),
)
def test_rules_never_fail_on_partial_recordings(missing: set[str], cut: dict[str, float], steps: int) -> None:
    tables = {t.name: build.empty(t.name) if t.name in missing else t for t in whole().tables()}
    for name, share in cut.items():
        tables[name] = tables[name].take(np.arange(round(len(tables[name]) * share)))
    marks = tables["marks"]
    is_step = marks.text("kind").equals("step")
    tables["marks"] = marks.take(np.flatnonzero(~is_step | (marks.array("number") < steps)))
    report = judge(Recording(whole().meta, tables))
    assert report.failed == {}


def test_an_empty_recording_is_judged_in_no_rule() -> None:
    report = judge(Recording(whole().meta, {}))
    assert report.failed == {}
    assert report.insights == ()
    assert report.step_ms is None
