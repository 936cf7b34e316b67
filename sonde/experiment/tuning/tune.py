"""Find better settings for a program: one knob after the other, each step proved by pairs.

Coordinate descent: the best position of a knob is kept if it beats what there was, then
the next knob is turned on top of it. A first look of few pairs drops what is clearly
no better; what survives is measured to a verdict. To prove that two settings are equal costs as many pairs as to
prove a gain, and helps nobody here: what shows no gain worth a claim at a look is dropped there, without a verdict.
In the end the winner runs against
the program as it was, on fresh pairs: the winner of many noisy trials looks better
than it is, and only fresh pairs tell by how much. Time for that last proof is kept back: when the budget
runs short, what won every pair of its first look goes straight to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sonde.errors import InputError
from sonde.experiment.design.arm import Arm
from sonde.experiment.measure.paired import ArmFailed, Comparison, Paired
from sonde.experiment.tuning.knobs import KNOBS, THREAD_VARIABLES, Knob, Place, Setting

FIRST_PAIRS = (3,)  # enough to drop what is far worse, or slower every time
SCREENING_PAIRS = (6,)
STAGE_LOOKS = (8, 16)
PROOF_PAIRS = 8  # the first look of a confirmation that can tell
# A setting whose first pairs are slower than this is dropped without a verdict.
HOPELESS_RATIO = 1.05
# A setting whose first pairs gain less than this share of the noise floor is not measured further: with a true gain as
# large as the floor, six pairs would show less than a quarter of it once in six times.
GAIN_IN_SIGHT = 0.25


@dataclass(frozen=True)
class Trial:
    """One setting that was tried, or could not be."""

    knob: str
    setting: Setting
    comparison: Comparison | None  # against the best so far at that time
    kept: bool
    note: str


@dataclass
class Tuned:
    """What is known so far; complete when `tune` returns. `confirmed` compares the best with "as is"."""

    best: Arm
    kept: list[Setting] = field(default_factory=list)
    confirmed: Comparison | None = None  # None when nothing was better
    noise_floor: float = float("inf")
    trials: list[Trial] = field(default_factory=list)
    out_of_time: bool = False
    finished: bool = False


def tune(
    base: Arm,
    place: Place,
    engine: Paired,
    knobs: Sequence[Knob] = KNOBS,
    so_far: Callable[[Tuned], None] = lambda tuned: None,
) -> Tuned:
    """Turn the knobs. `base` must be named "as is". `so_far` gets the result before it is complete."""
    tuned = Tuned(base)
    so_far(tuned)
    tuned.noise_floor = engine.noise_floor(base)
    place = replace(place, loads=engine.loads)
    for knob in knobs:
        if engine.out_of_time() or (tuned.kept and engine.short_of(SCREENING_PAIRS[0] + PROOF_PAIRS)):
            tuned.out_of_time = True
            break
        _turn(knob, tuned, place, engine)
    if tuned.best is not base:
        tuned.confirmed = engine.compare(base, tuned.best, tuned.noise_floor, label="confirmation")
        if tuned.confirmed.verdict.word != "faster" or not tuned.confirmed.same_result:
            tuned.best, tuned.kept = base, []
    tuned.out_of_time, tuned.finished = tuned.out_of_time or engine.out_of_time(), True
    return tuned


def _turn(knob: Knob, tuned: Tuned, place: Place, engine: Paired) -> None:
    best = tuned.best
    hopeful: list[tuple[float, Setting, Comparison]] = []

    def tried(setting: Setting, comparison: Comparison | None, note: str, kept: bool = False) -> None:
        tuned.trials.append(Trial(knob.name, setting, comparison, kept, note))

    for setting in knob.settings(place):
        if setting.impossible:
            tried(setting, None, setting.impossible)
        elif _is_set(setting, best, engine.threads.get(best.key, -1)):
            tried(setting, None, "that is what it has")
        elif engine.out_of_time() or (
            (hopeful or tuned.kept) and engine.short_of(SCREENING_PAIRS[0] + PROOF_PAIRS)
        ):
            tuned.out_of_time = True
            tried(setting, None, "no time left")
        else:
            try:
                screened = _screened(best, setting.on(best), engine, tuned.noise_floor)
            except ArmFailed as error:
                if error.arm.key == best.key:
                    raise
                tried(setting, None, error.message)
                continue
            except InputError as error:
                tried(setting, None, error.message)
                continue
            if not screened.same_result:
                tried(setting, screened, "the program's results change")
            elif _no_better(screened, tuned.noise_floor):
                tried(setting, screened, "no better")
            else:
                hopeful.append((screened.verdict.ratio.estimate, setting, screened))
    for number, (_, setting, screened) in enumerate(sorted(hopeful, key=lambda item: item[0])):
        if tuned.best is not best:
            tried(setting, screened, "another setting of this knob was better")
            continue
        if engine.short_of(PROOF_PAIRS + STAGE_LOOKS[0]) and _always_faster(screened, tuned.noise_floor):
            tried(setting, screened, "little time left: straight to the confirmation", True)
            tuned.best = setting.on(best)
            tuned.kept.append(setting)
            continue
        proved = _proved(best, setting.on(best), engine, tuned.noise_floor)
        kept = proved.verdict.word == "faster" and proved.same_result
        undecided = proved.verdict.word == "inconclusive" and _no_better(proved, tuned.noise_floor)
        tried(setting, proved, "no gain in sight" if undecided else proved.verdict.reason, kept)
        if kept:
            tuned.best = setting.on(best)
            tuned.kept.append(setting)
        elif number == 0 and proved.verdict.word == "same":
            # The others looked no better than this one, which is no better than what there was.
            for _, other, seen in sorted(hopeful, key=lambda item: item[0])[1:]:
                tried(other, seen, "no better")
            return


def _is_set(setting: Setting, best: Arm, threads: int) -> bool:
    """Whether the program already runs like that: by its own environment, or by the threads it was seen with."""
    if setting.prefix or setting.code or setting.patch or (setting.instances or 1) != best.instances:
        return False
    has = {**os.environ, **best.environment}
    if setting.environment and set(setting.environment) <= set(THREAD_VARIABLES):
        return all(has.get(key, str(threads)) == value for key, value in setting.environment.items())
    return all(has.get(key) == value for key, value in setting.environment.items())


def _screened(best: Arm, candidate: Arm, engine: Paired, floor: float) -> Comparison:
    """Three pairs, then three more unless each of them was slower by more than noise makes likely."""
    first = engine.compare(best, candidate, floor, FIRST_PAIRS)
    if not first.same_result or min(first.ratios) > 1 + min(floor, HOPELESS_RATIO - 1):
        return first
    return engine.compare(best, candidate, floor, SCREENING_PAIRS)


def _proved(best: Arm, candidate: Arm, engine: Paired, floor: float) -> Comparison:
    """To a verdict, or to the first planned look at which no gain is in sight."""
    for look in STAGE_LOOKS:
        found = engine.compare(best, candidate, floor, (look,))
        if found.verdict.word != "inconclusive" or _no_better(found, floor) or engine.out_of_time():
            break
    return found


def _always_faster(screened: Comparison, floor: float) -> bool:
    return max(screened.ratios) < 1 and screened.verdict.ratio.estimate < 1 / (1 + floor)


def _no_better(seen: Comparison, floor: float) -> bool:
    return (
        seen.verdict.word in ("slower", "same")
        or min(seen.ratios) > 1
        or seen.verdict.ratio.estimate > 1 - GAIN_IN_SIGHT * floor
    )
