"""Find better settings for a program: one knob after the other, each step proved by pairs.

Coordinate descent: the best position of a knob is kept if it beats what there was, then
the next knob is turned on top of it. A first look of few pairs drops what is clearly
no better; what survives is measured to a verdict. In the end the winner runs against
the program as it was, on fresh pairs: the winner of many noisy trials looks better
than it is, and only fresh pairs tell by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.experiment.arm import Arm
from sonde.experiment.knobs import KNOBS, Knob, Place, Setting
from sonde.experiment.paired import Comparison, Paired

SCREENING_PAIRS = (6,)
STAGE_LOOKS = (10, 16)
# A setting whose first pairs are slower than this is dropped without a verdict.
HOPELESS_RATIO = 1.05


@dataclass(frozen=True)
class Trial:
    """One setting that was tried, or could not be."""

    knob: str
    setting: Setting
    comparison: Comparison | None  # against the best so far at that time
    kept: bool
    note: str


@dataclass(frozen=True)
class Tuned:
    """The end: what was best, and what it is worth on fresh pairs."""

    best: Arm
    confirmed: Comparison | None  # best against "as is"; None when nothing was better
    noise_floor: float
    trials: list[Trial]
    out_of_time: bool


def tune(base: Arm, place: Place, engine: Paired, knobs: Sequence[Knob] = KNOBS) -> Tuned:
    """Turn the knobs. `base` must be named "as is"."""
    floor = engine.noise_floor(base)
    best, trials = base, []
    for knob in knobs:
        if engine.out_of_time():
            break
        best, tried = _turn(knob, best, place, engine, floor)
        trials += tried
    confirmed = None
    if best is not base:
        confirmed = engine.compare(base, best, floor, label="confirmation")
        if confirmed.verdict.word != "faster" or not confirmed.same_result:
            best = base
    return Tuned(best, confirmed, floor, trials, engine.out_of_time())


def _turn(knob: Knob, best: Arm, place: Place, engine: Paired, floor: float) -> tuple[Arm, list[Trial]]:
    trials: list[Trial] = []
    hopeful: list[tuple[float, Setting]] = []
    for setting in knob.settings(place):
        if setting.impossible:
            trials.append(Trial(knob.name, setting, None, False, setting.impossible))
            continue
        if all(best.environment.get(k) == v for k, v in setting.environment.items()) and not setting.prefix:
            trials.append(Trial(knob.name, setting, None, False, "that is what it has"))
            continue
        if engine.out_of_time():
            trials.append(Trial(knob.name, setting, None, False, "no time left"))
            continue
        screened = engine.compare(best, setting.on(best), floor, SCREENING_PAIRS)
        ratio = screened.verdict.ratio.estimate
        if not screened.same_result:
            trials.append(Trial(knob.name, setting, screened, False, "the program's results change"))
        elif ratio > HOPELESS_RATIO or screened.verdict.word in ("slower", "same"):
            trials.append(Trial(knob.name, setting, screened, False, "no better"))
        else:
            hopeful.append((ratio, setting))
    for _, setting in sorted(hopeful, key=lambda pair: pair[0]):
        proved = engine.compare(best, setting.on(best), floor, STAGE_LOOKS)
        kept = proved.verdict.word == "faster" and proved.same_result
        trials.append(Trial(knob.name, setting, proved, kept, proved.verdict.reason))
        if kept:
            # The rest of this knob was worse than the one just kept.
            return setting.on(best), trials
    return best, trials
