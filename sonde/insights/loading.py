"""How the stepping thread gets its batches: what rules 18 to 22 share.

Enters: marks of `DataLoader.__next__` and the loaders' settings. Leaves: the wait per step, and whether batches were
made in the stepping process itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.insights.host_layers import in_loader
from sonde.insights.model import NotEnough
from sonde.insights.shares import Share, exact
from sonde.insights.subject import Subject

RECORD_LOADER = "no DataLoader was used, or its waits were not recorded"


@dataclass(frozen=True)
class Loading:
    """Waits for batches in steady steps."""

    share: Share  # of steady time inside `__next__`
    median_ns: float
    batches: int
    workers: int  # most workers of any loader; -1 when not known
    settings: dict[str, Any]  # of the loader that the step waits for, as far as known


def loading(subject: Subject) -> Loading:
    """NotEnough when no loader was seen."""
    waits = subject.steady_marks("phase", "dataloader")
    if not len(waits):
        raise NotEnough(RECORD_LOADER)
    duration = waits.array("end_ns") - waits.array("start_ns")
    loaders = [one for one in subject.settings.get("loaders", []) if isinstance(one, dict)]
    # The training loader is the first that was iterated over; a validation loader comes later.
    chosen = loaders[0] if loaders else {}
    workers = chosen.get("num_workers", -1)
    return Loading(
        exact(float(duration.sum()), float(subject.steady.total_ns)),
        float(np.median(duration)),
        len(waits),
        int(workers) if isinstance(workers, int) else -1,
        chosen,
    )


def claimed(subject: Subject) -> Mask | None:
    """The host samples inside a loader's `__next__`, where there are samples."""
    try:
        return in_loader(subject)
    except NotEnough:
        return None
