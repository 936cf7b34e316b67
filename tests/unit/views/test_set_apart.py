"""Which part of a recording a view is of, where its marks are damaged."""

from __future__ import annotations

import numpy as np

from sonde.store import build
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from sonde.views.set_apart import extent_of
from tests.fixtures.synthetic import training_run


def test_steps_that_lie_at_one_moment_set_nothing_apart() -> None:
    run = training_run()
    marks = run.table("marks")
    at = np.full(len(marks), int(marks.array("start_ns")[0]))
    damaged = build.table("marks", **{**marks.columns, "start_ns": at, "end_ns": at})
    tables = {t.name: t for t in run.tables()} | {"marks": damaged}
    recording = Recording(run.meta, tables)
    assert extent_of(recording, ShowOptions()).span is None
    for view in ("threads", "stacks", "waits"):
        assert VIEWS[view].data(recording, ShowOptions())
