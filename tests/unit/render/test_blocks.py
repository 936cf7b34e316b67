"""What lives at a moment, in the page: at the peak it is what `show memory` says was seen there."""

from __future__ import annotations

from sonde.render.html.blocks import add_blocks
from sonde.render.html.payload import Payload
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.fixtures.synthetic import training_run


def test_blocks_alive_at_the_peak_are_those_of_the_view() -> None:
    recording = training_run()
    payload = Payload()
    add_blocks(payload, recording, 0)
    rows = payload.tables["blocks"]
    device = VIEWS["memory"].data(recording, ShowOptions())["devices"][0]
    at = device["time_ns"]
    alive = (rows["start"] <= at) & ((rows["end"] < 0) | (rows["end"] > at))
    window = rows["window"][alive & (rows["start"] == rows["start"][alive].max())][0]
    alive &= (rows["window"] == window) & (rows["process"] == device["process"])
    assert int(rows["bytes"][alive].sum()) == device["seen_bytes"]
    assert payload.facts["blocks_left_out"] == {"blocks": 0, "bytes": 0}


def test_a_recording_without_memory_has_no_blocks() -> None:
    payload = Payload()
    add_blocks(payload, Recording(Meta(program="nothing.py")), 0)
    assert len(payload.tables["blocks"]["bytes"]) == 0
