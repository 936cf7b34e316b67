"""Names for functions of stripped thread pools that are known to wait, from what samples in them did.

The agent tells busy waiting from work. A nameless function whose on-CPU samples were nearly
all busy waiting is a wait loop: `wait loop of libgomp.so.1` says more than an address. `full_name` stays null:
it is a description, not a symbol.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.columns import Table, Text

_LEAST_SHARE = 0.9


def with_wait_names(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`frames` with the names of such functions replaced."""
    if not all(len(tables.get(name, ())) for name in ("frames", "stacks", "samples")):
        return {}
    frames, stacks, samples = tables["frames"], tables["stacks"], tables["samples"]
    leaf = stacks.array("frame")[samples.array("stack")]
    states = samples.text("state")
    waited = states.matches(("spinning", "imbalance"))
    # Off the CPU nobody works, wait loop or not: only on-CPU samples can tell.
    all_of = np.bincount(leaf[~states.equals("waiting")], minlength=len(frames))
    waits_of = np.bincount(leaf[waited], minlength=len(frames))
    nameless = (frames.text("full_name").codes < 0) & frames.text("layer").equals("native")
    chosen = np.flatnonzero(nameless & (waits_of > 0) & (waits_of >= _LEAST_SHARE * all_of))
    if not len(chosen):
        return {}
    names = frames.text("name").tolist()
    libraries = frames.text("library")
    for frame in chosen.tolist():
        names[frame] = f"wait loop of {libraries[frame]}"
    return {"frames": frames.with_columns(name=Text.of(names))}
