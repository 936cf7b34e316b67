"""What part a host sample has in the step: forward, backward, optimizer, or the loop around them.

Enters: a `Subject`. Leaves: `Roles`, codes per host sample. From marks of phases and from stacks, never from names
of the user's functions:
    hook      a function of the user's that torch calls around a module or a gradient
    after     the loop, below the optimizer's line, calls of the model included: this step is made without it
    before    the loop, above the model's line: it feeds the step
    loop      outside forward, backward and optimizer, at a line that cannot be told to be before or after
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.intervals import union
from sonde.analyze.samples.stack_index import Mask, StackIndex
from sonde.columns import Array
from sonde.insights.subject import Subject

PHASES = ("forward", "backward", "optimizer")
ROLES = (*PHASES, "loop", "before", "after", "hook")
CODE = {name: code for code, name in enumerate(ROLES)}
_HOOKED = r"torch/nn/modules/module\.py$|torch/utils/hooks\.py$|torch/autograd/graph\.py$|torch/_tensor\.py$"


@dataclass(frozen=True)
class Roles:
    """`code` per host sample; `site` is the row in `frames` of the loop's own line, -1 where it is not on the stack."""

    code: Array
    site: Array
    phases: bool  # whether the program has any

    def of(self, *names: str) -> Mask:
        found: Mask = np.isin(self.code, [CODE[n] for n in names])
        return found


def roles(subject: Subject) -> Roles:
    """The role of each host sample."""
    host, index = subject.host, subject.stacks
    time = host.samples.array("time_ns")
    code = np.full(len(host), CODE["loop"], np.int64)
    for name in PHASES:
        marks = subject.marks("phase")
        rows = marks.text("name").equals(name)
        spans = union(marks.array("start_ns")[rows], marks.array("end_ns")[rows])
        code[spans.within(time, time + 1) > 0] = CODE[name]
    phases = bool((code != CODE["loop"]).any())
    code = _in_unmarked_steps(subject, code)
    site = np.full(len(host), -1, np.int64)
    if len(index):
        user = np.append(index.user_line, -1)[host.stack]
        loop = _loop_function(index, user, code, host.stack)
        if loop is not None:
            frames, first, last = loop
            site = np.append(index.innermost(frames), -1)[host.stack]
            line = np.append(index.frames.array("line"), -1)[site]
            outside = (code == CODE["loop"]) & (site >= 0)
            # A model that is called below the update is called for something else: metrics, validation.
            called = (code == CODE["forward"]) & (site >= 0)
            code[(outside | called) & (line > last)] = CODE["after"]
            code[outside & (line < first)] = CODE["before"]
        code[np.append(_hooks(index), False)[host.stack]] = CODE["hook"]
    return Roles(code, site, phases)


def _in_unmarked_steps(subject: Subject, code: Array) -> Array:
    """The codes; samples in steps without marks have those of the same line in steps with marks."""
    if subject.unit != "step" or not len(subject.stacks):
        return code
    marks, starts = subject.marks("phase"), subject.step_starts
    rows = marks.text("name").matches(PHASES)
    step = np.searchsorted(starts, subject.host.samples.array("time_ns"), "right")
    begun = np.searchsorted(starts, marks.array("start_ns")[rows], "right")
    marked = np.bincount(begun, minlength=len(starts) + 1)[: len(starts) + 1] > 0
    known = marked[step]
    if known.all() or not known.any():
        return code
    weight, found = subject.host.weight, code.copy()
    # A stack is surer than its line: a line may hold the loss beside the model.
    for key in (np.append(subject.stacks.user_line, -1)[subject.host.stack], subject.host.stack):
        key = key.astype(np.int64) + 1
        table = np.zeros((int(key.max()) + 1, len(ROLES)))
        np.add.at(table, (key[known], code[known]), weight[known])
        seen = ~known & (table.sum(axis=1)[key] > 0) & (key > 0)
        found[seen] = table.argmax(axis=1)[key[seen]]
    return found


def _loop_function(index: StackIndex, user: Array, code: Array, stack: Array) -> tuple[Mask, int, int] | None:
    """Frames of the function that makes the step, the first line that calls the model, the last that updates it."""
    outer = np.append(_outside_modules(index), -1)[stack]
    for phase in ("optimizer", "backward", "forward"):
        at = (outer if phase == "forward" else user)[code == CODE[phase]]
        at = at[at >= 0]
        if not len(at):
            continue
        frames = index.frames
        file, name, line = frames.text("file"), frames.text("name"), frames.array("line")
        row = int(np.bincount(at).argmax())
        mine = (
            (file.codes == file.codes[row])
            & (name.codes == name.codes[row])
            & frames.text("layer").equals("python")
        )
        called = outer[(code == CODE["forward"]) & (outer >= 0)]
        called = called[mine[called]]
        own = line[at[mine[at]]]
        return mine, int(np.concatenate((own, line[called])).min()), int(own.max())
    return None


def _outside_modules(index: StackIndex) -> Array:
    """For each stack the innermost frame of the user's that is not called from a module."""
    module = index.on_stack(index.frames_where(layer="^module$"))
    users = np.append(index.users_python, False)[index.frame]
    return index.innermost_of(users & ~module)


def _hooks(index: StackIndex) -> Mask:
    """Stacks in a function of the user's that torch's module or hook code called, and that is no `forward`."""
    python = index.frames_where(layer="^python$")
    caller = index.callers(python)
    hooked = np.append(index.frames_where(layer="^python$", file=_HOOKED), False)[caller]
    users = np.append(index.users_python & ~index.frames_where(r"(^|\.)(forward|backward|__call__)$"), False)
    return index.below(hooked & users[index.frame])
