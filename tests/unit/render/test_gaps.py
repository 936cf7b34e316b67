"""Idle stretches of a device in the page, held against the idle split that `show gpu` prints."""

from __future__ import annotations

import numpy as np

from sonde.render.html.gaps import CAUSES
from sonde.render.html.limits import LEVELS
from sonde.render.html.options import ReportOptions
from sonde.render.html.report import build_payload
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.fixtures.device_run import device_run


def test_all_gaps_together_are_the_idle_time_and_each_ends_with_a_kernel() -> None:
    recording = device_run()
    payload, _ = build_payload(recording, ReportOptions(), LEVELS[0], {})
    columns = payload.tables["gaps"]
    told = VIEWS["gpu"].data(recording, ShowOptions())["devices"]
    idle_ms = sum(device["idle_ms"] for device in told)
    assert columns["duration"].sum() / 1e6 == np.float64(idle_ms).round(9)
    assert set(columns["cause"].tolist()) <= set(range(len(CAUSES)))
    kernels = payload.tables["kernels"]
    ends = columns["start"] + columns["duration"]
    assert (kernels["start"][columns["next"]] == ends).all()
