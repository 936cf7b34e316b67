"""The stack, frame and function tables of one thread of a Firefox profile, and its samples.

Enters: the stacks of the recording and the rows of one thread's samples. Leaves:
only the nodes that this thread reaches, parents first, numbered from zero, so that
thousands of threads do not each carry the whole tree. Weights add up to the
thread's on-CPU time, to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sonde.analyze.base.nesting import sum_up
from sonde.analyze.samples.labels import frame_label
from sonde.columns import Interner
from sonde.export.profile import I64, StackProfile
from sonde.layers import hue_names

# The viewer knows these names of colours only; grey marks the default category.
COLOUR_OF_HUE = {
    "blue": "blue", "violet": "purple", "teal": "green", "sand": "yellow", "orange": "orange",
    "mauve": "magenta", "green": "lightblue", "grey": "darkgrey",
}  # fmt: skip
CATEGORIES: list[dict[str, Any]] = [
    {"name": "other", "color": "grey", "subcategories": ["Other"]},
    *(
        {"name": layer, "color": COLOUR_OF_HUE[hue], "subcategories": ["Other"]}
        for layer, hue in hue_names().items()
    ),
    {"name": "steps", "color": "lightred", "subcategories": ["Other"]},
]
NUMBER_OF = {category["name"]: number for number, category in enumerate(CATEGORIES)}
OPERATORS, DEVICE, MARKS = NUMBER_OF["op"], NUMBER_OF["gpu"], NUMBER_OF["steps"]
LIBRARY_RESOURCE = 1  # the viewer's number for "a library"


class ThreadStacks:
    """Makes the tables of one thread after the other; files, libraries and strings are shared."""

    def __init__(self, profile: StackProfile, strings: Interner) -> None:
        self.profile, self.strings = profile, strings
        self.files, self.libraries = Interner(), Interner()
        frames = profile.frames
        self.layer, self.name = frames.text("layer").tolist(), frames.text("name").tolist()
        self.file, self.library = frames.text("file").tolist(), frames.text("library").tolist()
        self.line = frames.array("line").tolist()

    def tables(self, samples: I64, to_ms: Callable[[int], float]) -> dict[str, Any]:
        """`samples`, `stackTable`, `frameTable`, `funcTable`, `resourceTable` and `nativeSymbols`."""
        nodes = self._reached(np.unique(self.profile.stack[samples]))
        rows = np.unique(self.profile.frame[nodes])
        parents = self.profile.parent[nodes]
        prefix = np.searchsorted(nodes, parents)
        weights = self.profile.weight_ns[samples].tolist()
        return {
            "samples": {
                "stack": np.searchsorted(nodes, self.profile.stack[samples]).tolist(),
                "time": [to_ms(t) for t in self.profile.time_ns[samples].tolist()],
                "weight": [ns / 1e6 for ns in weights],
                "weightType": "tracing-ms",
                "threadCPUDelta": weights,
                "length": len(samples),
            },
            "stackTable": {
                "frame": np.searchsorted(rows, self.profile.frame[nodes]).tolist(),
                "prefix": [p if up >= 0 else None for p, up in zip(prefix.tolist(), parents, strict=True)],
                "length": len(nodes),
            },
            **self._frames(rows.tolist()),
            "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0},
        }

    def _reached(self, leaves: I64) -> I64:
        """These nodes and all above them; ascending, so parents come first."""
        parent = self.profile.parent
        wanted = np.zeros(len(parent), np.int64)
        wanted[leaves] = 1
        return np.flatnonzero(sum_up(parent, wanted))

    def _frames(self, rows: list[int]) -> dict[str, Any]:
        functions: dict[tuple[str, str | None, str | None], int] = {}
        resources = Interner()
        func = []
        for row in rows:
            # Without the line: places in one function are one function, and the frame has the line.
            name = frame_label(self.layer[row], self.name[row], self.file[row], -1)
            func.append(functions.setdefault((name, self.file[row], self.library[row]), len(functions)))
        keys = list(functions)
        size, count = len(rows), len(keys)
        return {
            "frameTable": {
                "address": [-1] * size,
                "inlineDepth": [0] * size,
                "category": [NUMBER_OF.get(self.layer[r] or "", 0) for r in rows],
                "subcategory": [0] * size,
                "func": func,
                "nativeSymbol": [None] * size,
                "innerWindowID": [0] * size,
                "line": [self.line[r] if self.line[r] > 0 else None for r in rows],
                "column": [None] * size,
                "length": size,
            },
            "funcTable": {
                "name": [self.strings(name) for name, _, _ in keys],
                "isJS": [False] * count,
                "relevantForJS": [False] * count,
                "resource": [resources(library) if library else -1 for _, _, library in keys],
                "source": [self.files(file) if file else None for _, file, _ in keys],
                "lineNumber": [None] * count,
                "columnNumber": [None] * count,
                "length": count,
            },
            "resourceTable": {
                "lib": [self.libraries(name) for name in resources.values],
                "name": [self.strings(name) for name in resources.values],
                "host": [None] * len(resources.values),
                "type": [LIBRARY_RESOURCE] * len(resources.values),
                "length": len(resources.values),
            },
        }
