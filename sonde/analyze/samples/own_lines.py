"""Which frames are the user's own lines, and the lines that cause most time.

In: `frames`, `stacks`, samples on the CPU, and the names of texts that the recording carries though they are no files
(`<string>` of `python -c`, `<stdin>`). Out: rows of (label, ns), each with everything the line calls.

Python: files that are no library. A program without Python: lines of DWARF outside the system's folders; without
debug information functions of the executable, as far as its symbols name them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from sonde.analyze.samples.labels import frame_label, frame_labels
from sonde.analyze.samples.stack_index import OBSERVERS
from sonde.columns import Array, Table

# Sonde's own observers run inside the program; in a clone they are no site-package.
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3|" + OBSERVERS + r"|/torchinductor_")
_SYSTEM_SOURCE = re.compile(
    r"^(?!/)|^/(?:usr|opt|build|rustc|pytorch)/|/(?:site|dist)-packages/|/\.cargo/|/native/agent/"
)
_NOTEBOOK = re.compile(r"/ipykernel_\d+/|^<ipython-input-")
ALONE = 0.9  # of the time: such a line alone tells nothing


@dataclass(frozen=True)
class OwnLines:
    """The user's lines by time, and where one has nearly all of it, the library lines below."""

    rows: list[tuple[str, int]]
    below: list[tuple[str, int]]
    functions: bool = False  # no lines are known: rows are functions


def is_native_program(frames: Table) -> bool:
    """No frame of Python at all."""
    return not frames.text("layer").equals("python").any()


def is_own(layer: str | None, file: str | None, native: bool, carried: Collection[str]) -> bool:
    """Whether a frame is a line of the user's own program."""
    if not file:
        return False
    if layer == "python":
        if file.startswith("<"):
            return file in carried or bool(_NOTEBOOK.search(file))
        return not _LIBRARY.search(file)
    return native and layer == "native" and not _SYSTEM_SOURCE.search(file)


def of_executable(frames: Table) -> Array:
    """Mask of the native functions of the executable that holds `main`."""
    native = frames.text("layer").equals("native")
    mains = np.flatnonzero(native & frames.text("name").equals("main"))
    libraries = {v for v in frames.text("library").take(mains).tolist() if v}
    found: Array = native & frames.text("library").matches(libraries)
    return found


def own_lines(frames: Table, stacks: Table, samples: Table, carried: Collection[str]) -> OwnLines:
    """Innermost own lines of all samples: those can be changed."""
    native = is_native_program(frames)
    files, layers = frames.text("file").tolist(), frames.text("layer").tolist()
    own = [is_own(layer, file, native, carried) for layer, file in zip(layers, files, strict=True)]
    functions = native and not any(own)
    if functions:
        own = of_executable(frames).tolist()
    row_of = {frame: row for row, frame in enumerate(frames.array("frame").tolist())}
    ids = stacks.array("stack").tolist()
    parent = dict(zip(ids, stacks.array("parent").tolist(), strict=True))
    row = {stack: row_of[frame] for stack, frame in zip(ids, stacks.array("frame").tolist(), strict=True)}
    weight: dict[int, int] = {}
    for stack, ns in zip(samples.array("stack").tolist(), samples.array("weight_ns").tolist(), strict=True):
        weight[stack] = weight.get(stack, 0) + ns
    labels = _labels(frames)
    mine: dict[str, int] = {}
    below: dict[str, int] = {}
    for stack, ns in weight.items():
        node, library = stack, -1
        while node >= 0 and not own[row[node]]:
            if (
                library < 0
                and layers[row[node]] == "python"
                and not (files[row[node]] or "<").startswith("<")
            ):
                library = row[node]
            node = parent[node]
        if node < 0:
            continue
        mine[labels[row[node]]] = mine.get(labels[row[node]], 0) + ns
        if library >= 0:
            below[labels[library]] = below.get(labels[library], 0) + ns
    rows = _heaviest(mine)
    alone = bool(rows) and rows[0][1] >= ALONE * sum(weight.values())
    return OwnLines(rows, _heaviest(below) if alone else [], functions)


def _labels(frames: Table) -> list[str]:
    """As everywhere; native frames with their line, which only matters here."""
    labels = frame_labels(frames)
    columns = (frames.text("layer").tolist(), frames.text("name").tolist(), frames.text("file").tolist())
    for i, (layer, name, file, line) in enumerate(zip(*columns, frames.array("line").tolist(), strict=True)):
        if layer == "native" and file:
            labels[i] = frame_label("python", name, file, line)
    return labels


def _heaviest(times: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(times.items(), key=lambda item: -item[1])
