"""Questions about stacks, answered for all of them at once.

Enters: `frames` and `stacks`. A predicate is evaluated once per distinct name, spread to frames,
and pushed down the prefix tree level by level: no Python work per sample or stack. Row numbers
that point nowhere (tables with parts missing) count as "none".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sonde.analyze.base.nesting import depths, levels
from sonde.columns import Array, Table, Text

Mask = npt.NDArray[np.bool_]
# Code of Sonde's own inside the program.
OBSERVERS = r"/sonde/(?:record/|(?:redact|rawfolder|__init__)\.py)"
LIBRARY_PYTHON = re.compile(
    r"site-packages|dist-packages|/lib/python3|" + OBSERVERS + r"|/sonde/insights/|^<"
)


def text_mask(column: Text, wanted: str | Callable[[str], bool]) -> Mask:
    """Rows whose text matches a regular expression (searched), or a predicate."""
    test = re.compile(wanted).search if isinstance(wanted, str) else wanted
    hits = np.array([bool(test(v)) for v in column.values] + [False], np.bool_)
    found: Mask = hits[column.codes]
    return found


class StackIndex:
    """The prefix tree with its frames; masks are per frame row or per stack row."""

    def __init__(self, frames: Table, stacks: Table) -> None:
        self.frames = frames
        count, frame_count = len(stacks), len(frames)
        parent = stacks.array("parent").astype(np.int64)
        frame = stacks.array("frame").astype(np.int64)
        own = np.arange(count)
        self.parent: Array = np.where((parent >= 0) & (parent < own), parent, -1)
        self.frame: Array = np.where((frame >= 0) & (frame < frame_count), frame, -1)
        self._memory: dict[tuple[str | None, ...], Mask] = {}

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def _levels(self) -> list[Array]:
        """Rows by their distance from the root, the roots' children first."""
        return list(levels(depths(self.parent)))[1:]

    def frames_where(
        self,
        name: str | None = None,
        layer: str | None = None,
        file: str | None = None,
        library: str | None = None,
    ) -> Mask:
        """Frames whose columns match all the given regular expressions."""
        key = (name, layer, file, library)
        found = self._memory.get(key)
        if found is None:
            found = np.ones(len(self.frames), np.bool_)
            for column, wanted in (("name", name), ("layer", layer), ("file", file), ("library", library)):
                if wanted is not None:
                    found &= text_mask(self.frames.text(column), wanted)
            self._memory[key] = found
        return found

    def _of_frames(self, frames: Mask) -> Mask:
        if not len(frames):
            return np.zeros(len(self), np.bool_)
        found: Mask = (self.frame >= 0) & frames[np.maximum(self.frame, 0)]
        return found

    def on_stack(self, frames: Mask, under: Mask | None = None) -> Mask:
        """Stacks with such a frame anywhere (below a stack of `under`, when given)."""
        found = self._of_frames(frames)
        if under is not None:
            found &= under
        for rows in self._levels:
            found[rows] |= found[self.parent[rows]]
        return found

    def below(self, nodes: Mask) -> Mask:
        """Stacks that are in a mask over stacks, or were called from one that is."""
        found = nodes.copy()
        for rows in self._levels:
            found[rows] |= found[self.parent[rows]]
        return found

    def innermost_of(self, nodes: Mask) -> Array:
        """For each stack the frame row of its innermost node in a mask over stacks, -1 when there is none."""
        result: Array = np.where(nodes, self.frame, -1)
        for rows in self._levels:
            result[rows] = np.where(result[rows] >= 0, result[rows], result[self.parent[rows]])
        return result

    def callers(self, frames: Mask) -> Array:
        """For each stack the innermost frame row in the mask among its callers, -1 when there is none."""
        inner = np.append(self.innermost(frames), -1)
        found: Array = inner[self.parent]
        return found

    def leaf(self, frames: Mask) -> Mask:
        """Stacks that end in such a frame."""
        return self._of_frames(frames)

    def innermost(self, frames: Mask) -> Array:
        """For each stack the innermost frame row in the mask, -1 when there is none."""
        result: Array = np.where(self._of_frames(frames), self.frame, -1)
        for rows in self._levels:
            result[rows] = np.where(result[rows] >= 0, result[rows], result[self.parent[rows]])
        return result

    @cached_property
    def users_python(self) -> Mask:
        """Python frames of the user's own code."""
        file = self.frames.text("file")
        own = np.array([bool(v) and not LIBRARY_PYTHON.search(v) for v in file.values] + [False], np.bool_)
        found: Mask = own[file.codes] & self.frames.text("layer").equals("python")
        return found

    @cached_property
    def user_line(self) -> Array:
        """For each stack the innermost frame of the user's own code, -1 when there is none."""
        return self.innermost(self.users_python)
