"""Who spent the time: for each stack the innermost line of the user's own code, with its module.

In: `StackIndex`, and how much time each stack has. Out: `Places`. Where the program is one line that calls a library
(a trainer, a pipeline), that line says nothing: then the innermost line of the library that it calls stands in, or of
torch itself where there is no other. A native program has its own functions in its executable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sonde.analyze.samples.own_lines import is_own, of_executable
from sonde.analyze.samples.stack_index import StackIndex
from sonde.columns import Array

ONE_LINE = 0.9  # of all time in one line, and hardly any in others: the program is a call of a library
OTHER_LINES = 0.02
_FRAMEWORK = r"/torch/|/sonde/|/lib/python3\.\d+/(?!site-packages|dist-packages)|^<frozen"


@dataclass(frozen=True)
class Place:
    """A line of source; `line` is -1 where only the function is known, and `file` is empty where nothing is."""

    file: str
    line: int
    function: str

    @property
    def label(self) -> str:
        if not self.file:
            return self.function or "(no line of yours)"
        name = self.file.rpartition("/")[2]
        return f"{self.function} ({name}:{self.line})" if self.line > 0 else f"{self.function} ({name})"


NOBODY = Place("", -1, "")


@dataclass(frozen=True)
class Places:
    """`of_stack[s]` is the row in `all` of the place of stack s, and `module[s]` the row in `modules` of the
    innermost module on it, -1 for none; the last entries are for no stack."""

    all: tuple[Place, ...]
    of_stack: Array
    modules: tuple[str, ...]
    module: Array
    from_library: bool  # lines of a library stand in for those of a one-line program


def places_of(index: StackIndex, weight: Array) -> Places:
    """The place of each stack; `weight` (per stack) decides whether the program is one line only."""
    if not len(index):
        return Places((NOBODY,), np.zeros(1, np.int64), (), np.full(1, -1, np.int64), False)
    line = index.user_line if index.users_python.any() else _native_lines(index)
    from_library = False
    heaviest = _one_line(index, line, weight)
    if heaviest:
        deeper = _library_lines(index)
        line = np.where(deeper >= 0, deeper, line)
        from_library = True
    found, of_stack = _named(index, line)
    names = index.frames.text("name")
    inner = np.append(index.innermost(index.frames_where(layer="^module$")), -1)
    module = np.append(names.codes.astype(np.int64), -1)[inner]
    return Places(found, of_stack, tuple(names.values), module, from_library)


def _one_line(index: StackIndex, line: Array, weight: Array) -> bool:
    keys = _line_keys(index)
    used = (line >= 0) & (weight > 0)
    whole = float(weight.sum())
    if not used.any() or whole <= 0:
        return False
    sums = np.bincount(keys[line[used]], weight[used])
    return bool(sums.max() >= ONE_LINE * whole and (sums > OTHER_LINES * whole).sum() == 1)


def _line_keys(index: StackIndex) -> Array:
    """One number per distinct (file, line) of frames; where there is no file, per function."""
    file, line = index.frames.text("file").codes.astype(np.int64), index.frames.array("line").astype(np.int64)
    name = np.where(file < 0, index.frames.text("name").codes.astype(np.int64), -1)
    _, key = np.unique(np.stack((file, line, name), axis=1), axis=0, return_inverse=True)
    return key.reshape(-1)


def _library_lines(index: StackIndex) -> Array:
    python = index.frames_where(layer="^python$")
    framework = index.frames_where(layer="^python$", file=_FRAMEWORK)
    beyond = index.innermost(python & ~framework & ~index.users_python)
    return np.where(beyond >= 0, beyond, index.innermost(python & ~index.users_python))


def _native_lines(index: StackIndex) -> Array:
    """Innermost line of the user's sources; without debug information the innermost function of the executable."""
    layers, files = (index.frames.text(c).tolist() for c in ("layer", "file"))
    own = np.array(
        [is_own(*row, native=True, carried=()) for row in zip(layers, files, strict=True)], np.bool_
    )
    return index.innermost(own if own.any() else np.asarray(of_executable(index.frames)))


def _named(index: StackIndex, line: Array) -> tuple[tuple[Place, ...], Array]:
    """The distinct places, and the row of each stack's among them; the last entry is for no stack."""
    frames = index.frames
    line = np.append(line, -1)
    keys = np.append(_line_keys(index), -1)[line]
    _, first, of_stack = np.unique(keys, return_index=True, return_inverse=True)
    found = [
        NOBODY
        if at < 0
        else Place(
            frames.text("file")[at] or "", int(frames.array("line")[at]), frames.text("name")[at] or "?"
        )
        for at in line[first].tolist()
    ]
    return tuple(found), of_stack.reshape(-1).astype(np.int64)
