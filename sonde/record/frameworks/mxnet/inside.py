"""MXNet: start its own profiler when the program imports it, and have the trace written to raw/.

Operators, symbolic and imperative, and memory; API calls, which are nine tenths of the events, with `--window all`.
A program that configures the profiler itself has the right of way: ours stops, and a
loss says so. raw/PID.mxnet.json is MXNet's own Chrome trace, on the wall clock.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sonde import rawfolder
from sonde.record.inside import observation, primitives
from sonde.record.inside.patch import wrap

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation


def imported(mxnet: Any) -> None:
    """`import mxnet` has just finished in this process."""
    seen = observation.observe()
    if seen is not None:
        observe(mxnet, seen)


def observe(mxnet: Any, seen: Observation) -> None:
    """Start MXNet's profiler, and stop it at exit; have its oneDNN print calls where that was asked for."""
    if primitives.begin(seen.session):
        for name in primitives.VARIABLES:  # read at the first call, once
            os.environ[name] = "1"
    profiler = mxnet.profiler
    path = rawfolder.MXNET_TRACE.path(seen.session.raw, os.getpid())
    profiler.set_config(
        profile_symbolic=True,
        profile_imperative=True,
        profile_memory=True,
        profile_api=seen.session.options.get("window") == "all",
        aggregate_stats=False,
        continuous_dump=False,
        filename=path,
    )
    profiler.set_state("run")
    running = [True]

    def finish() -> None:
        if running[0]:
            running[0] = False
            mxnet.nd.waitall()
            profiler.set_state("stop")
            profiler.dump()

    def make_config(original: Any) -> Any:
        def set_config(*args: Any, **kwargs: Any) -> Any:
            if running[0]:
                running[0] = False
                profiler.set_state("stop")
                why = "the program uses MXNet's profiler; Sonde does not"
                seen.session.lose("own_profiler", 1, "windows", why)
            return original(*args, **kwargs)

        return set_config

    wrap(profiler, "set_config", make_config)
    seen.session.on_exit.append(finish)
    # A forked child shares neither the engine's threads nor the profiler.
    seen.session.on_fork.append(lambda: running.__setitem__(0, False))
