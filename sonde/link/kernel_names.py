"""Name Inductor's compiled kernels in sampled stacks.

Every C++ kernel is a library of its own whose only function is called `kernel`; the marks of kind
"compile" know which library holds which kernel, and the kernel's name holds the operators
that were fused into it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from sonde import json_text
from sonde.columns import Table, Text

SYMBOL = "kernel"


def kernel_libraries(marks: Table) -> dict[str, str]:
    """File name of the library → name of the kernel in it."""
    found = {}
    chosen = marks.text("kind").equals("compile") & marks.text("name").equals("kernel")
    for row in np.flatnonzero(chosen).tolist():
        extra = json_text.object_of(marks.text("extra")[row])
        library, kernel = json_text.text(extra.get("library")), json_text.text(extra.get("kernel"))
        if library and kernel:
            found[os.path.basename(library)] = kernel
    return found


def with_kernel_names(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`frames` with Inductor's kernels called by their own names."""
    if not all(len(tables.get(name, ())) for name in ("frames", "marks")):
        return {}
    frames, libraries = tables["frames"], kernel_libraries(tables["marks"])
    if not libraries:
        return {}
    names, full = frames.text("name").tolist(), frames.text("full_name").tolist()
    for row, library in enumerate(frames.text("library").tolist()):
        kernel = libraries.get(os.path.basename(library or ""))
        if kernel is not None and (names[row] or "").startswith(SYMBOL):
            full[row] = f"{kernel} ({names[row]} in {library})"
            names[row] = kernel
    return {"frames": frames.with_columns(name=Text.of(names), full_name=Text.of(full))}
