"""Who came late to which collective, in the page, held against the waiting that `show gpu` prints."""

from __future__ import annotations

import numpy as np

from sonde.ingest import open_any
from sonde.render.html.arrivals import add_arrivals
from sonde.render.html.payload import Payload
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.environments import data_file
from tests.fixtures.synthetic import training_run


def test_the_last_ranks_of_a_real_job_are_those_that_show_gpu_counts() -> None:
    recording = open_any(data_file("traces/multirank/megatron_tp8/megatron_kineto_0.json.gz").parent)
    payload = Payload()
    add_arrivals(payload, recording, 0)
    rows = payload.tables["arrivals"]
    told = VIEWS["gpu"].data(recording, ShowOptions())["alignment"]["last_arrivals"]
    ranks = np.unique(rows["rank"])
    late = rows["late"].reshape(len(ranks), -1)
    last = {str(rank): int((late.argmax(axis=0) == i).sum()) for i, rank in enumerate(ranks)}
    assert last == told
    assert (late.min(axis=0) == 0).all()


def test_a_program_of_one_rank_has_none() -> None:
    payload = Payload()
    add_arrivals(payload, training_run(), 0)
    assert len(payload.tables["arrivals"]["rank"]) == 0
