"""Samples inside an OpenMP runtime that only answers a question are work, not waits.

The agent sees that a thread is in the runtime's code, where nearly all of the time is a loop that waits for
others. Torch also asks it `omp_get_max_threads` before every operator: the function's name, known only here,
tells the two apart.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from sonde.ingest.agent.log import STATES, RawLog, RawSamples
from sonde.ingest.agent.native_frames import NativeFrames

_ANSWERS = re.compile(
    r"^(?:omp_(?:get|in|is)_\w+|omp_set_(?:num_threads|dynamic|nested|schedule|max_active_levels))$"
)
RUNNING, BUSY_WAITS = STATES.index("running"), (STATES.index("spinning"), STATES.index("imbalance"))


def with_answers_running(log: RawLog, native: NativeFrames) -> RawSamples:
    """The log's samples, those in a question to the runtime as running."""
    samples = log.samples
    suspects = np.isin(samples.state, BUSY_WAITS) & (samples.native > 0)
    answering = np.zeros(len(log.nodes.pc) + 1, np.bool_)
    for node in np.unique(samples.native[suspects]).tolist():
        _, name = native.function_at(int(log.nodes.pc[node - 1]))
        answering[node] = _ANSWERS.match(name) is not None
    state = samples.state.copy()
    state[suspects & answering[samples.native]] = RUNNING
    return replace(samples, state=state)
