"""`--thread TID`: which samples are of the thread that was asked for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sonde.errors import UsageError
from sonde.store.recording import Recording


def of_thread(recording: Recording, tid: int | None) -> npt.NDArray[np.bool_]:
    """Mask over `samples`; all of them where no thread was asked for."""
    samples, threads = recording.table("samples"), recording.table("threads")
    if tid is None:
        return np.ones(len(samples), np.bool_)
    numbers = threads.array("thread")[threads.array("tid") == tid]
    if len(numbers) == 0:
        raise UsageError(f"no thread {tid}", "see: sonde show REC threads")
    mask: npt.NDArray[np.bool_] = np.isin(samples.array("thread"), numbers)
    return mask
