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
from tests.fixtures.device_run import device_run
from tests.fixtures.synthetic import training_run


@lru_cache(maxsize=2)
def whole(device: bool) -> Recording:
    return device_run(steps=8) if device else training_run(steps=12, sample_hz=200)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    device=st.booleans(),
    missing=st.sets(st.sampled_from(sorted(TABLES)), max_size=8),
    cut=st.dictionaries(st.sampled_from(sorted(TABLES)), st.floats(0, 1), max_size=4),
    steps=st.integers(0, 12),
)
def test_rules_never_fail_on_partial_recordings(
    device: bool, missing: set[str], cut: dict[str, float], steps: int
) -> None:
    tables = {t.name: build.empty(t.name) if t.name in missing else t for t in whole(device).tables()}
    for name, share in cut.items():
        if name not in tables:
            continue
        tables[name] = tables[name].take(np.arange(round(len(tables[name]) * share)))
    marks = tables["marks"]
    is_step = marks.text("kind").equals("step")
    tables["marks"] = marks.take(np.flatnonzero(~is_step | (marks.array("number") < steps)))
    report = judge(Recording(whole(device).meta, tables))
    assert report.failed == {}


def test_an_empty_recording_is_judged_in_no_rule() -> None:
    report = judge(Recording(whole(device=False).meta, {}))
    assert report.failed == {}
    assert report.insights == ()
    assert report.step_ms is None


def test_the_rules_of_devices_speak_of_the_whole_trace() -> None:
    """Else the property above would hold for rules that never get that far."""
    report = judge(whole(device=True))
    assert report.failed == {}
    said = {insight.rule for insight in report.insights}
    assert {"straggler", "pageable_copies", "misaligned_gemm", "cudnn_benchmark"} <= said, (said, report)
