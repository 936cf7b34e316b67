"""How the stepping thread gets its batches: what rules 18 to 22 share.

Enters: marks of `DataLoader.__next__` and the loaders' settings. Leaves: the wait per step, and whether batches were
made in the stepping process itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde import json_text
from sonde.analyze.account.kinds import CODES
from sonde.analyze.samples.stack_index import Mask
from sonde.insights.host_layers import in_loader
from sonde.insights.model import NotEnough
from sonde.insights.shares import Share, exact
from sonde.insights.subject import Subject

FEWEST_EPOCHS = 2  # complete ones, so that most samples came again
LEAST_OWN, MOST_RANDOM = (
    0.5,
    0.002,
)  # of the time in the loader: a drawn crop costs little and changes the sample
_FETCH, _SAMPLER = r"torch/utils/data/", r"torch/utils/data/sampler\.py$"
_AUGMENTS = r"/transforms/|/(albumentations|kornia|imgaug|audiomentations|torchio|nlpaug)/"
RANDOM_FILE = r"/lib/python3[^/]*/random\.py$|numpy/random/|/torch/random\.py$"
RANDOM_NAME = (
    r"^aten::(rand\w*|normal_?|uniform_?|bernoulli_?|random_|multinomial|dropout_?)$|mt19937|pcg64|philox|^_random_\w+"
    r"|random_(standard|interval|bounded|float|double)\w*|^genrand_"
)
KEEP = (
    "# the data set makes the same samples in every epoch: make them once and keep them, if they fit into memory\n"
    "self.samples = [self.make(i) for i in range(len(self))]   # in __init__; __getitem__ returns self.samples[i]\n"
)
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


def made_again(subject: Subject) -> bool:
    """Whether the steps wait for samples that were made in an epoch before, and could have been kept.

    The loader went over its data more than once, and most of its time is in the user's own code, which draws no
    random numbers: what it makes of a sample is the same in every epoch.
    """
    epochs = subject.marks("epoch")
    rounds = [json_text.object_of(extra) for extra in epochs.text("extra").tolist()]
    complete = [one.get("loader") for one in rounds if one.get("complete") is True]
    if not any(complete.count(loader) >= FEWEST_EPOCHS for loader in set(complete)):
        return False
    claim = claimed(subject)
    if claim is None or not claim.any():
        return False
    index, weight = subject.stacks, subject.host.weight
    fetch = index.frames_where(layer="^python$", file=_FETCH)
    own = np.append(index.users_python, False)
    below = np.append(own[index.innermost(fetch | index.users_python)], False)[subject.host.stack] & claim
    draws = subject.host_with(RANDOM_NAME) | subject.host_with(layer="^python$", file=RANDOM_FILE)
    draws |= subject.host_kinds == CODES["random"]
    sampler = subject.host_with(layer="^python$", file=_SAMPLER)
    random = float(weight[claim & draws & ~sampler].sum())
    whole = float(weight[claim].sum())
    if _may_draw(subject, claim):
        return False
    return float(weight[below].sum()) >= LEAST_OWN * whole and random <= MOST_RANDOM * whole


def _may_draw(subject: Subject, claim: Mask) -> bool:
    """Whether a function that makes samples draws by its text, or is a library's that changes them by chance."""
    index = subject.stacks
    frames = index.frames
    loader = index.frames_where(layer="^python$", file=_FETCH)
    inside = index.on_stack(loader)
    reached, at = np.zeros(len(frames), np.bool_), subject.host.stack[claim]
    while (at := np.unique(at[at >= 0])).size:
        at = at[inside[at]]  # what calls the loader is no sample's
        reached[index.frame[at][index.frame[at] >= 0]] = True
        at = index.parent[at]
    if (reached & index.frames_where(layer="^python$", file=_AUGMENTS)).any():
        return True
    for row in np.flatnonzero(reached & index.users_python & ~loader).tolist():
        facts = subject.source_facts.get(frames.text("file")[row] or "")
        if facts is None or (frames.text("name")[row] or "").rpartition(".")[2] in facts.draws:
            return True  # without the text nobody knows
    return False


def claimed(subject: Subject) -> Mask | None:
    """The host samples inside a loader's `__next__`, where there are samples."""
    try:
        return in_loader(subject)
    except NotEnough:
        return None
