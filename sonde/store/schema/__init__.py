"""The schema of a recording: the truth about what each table and column means.

VERSION grows when a reader of the old tables would be wrong about the new ones.
Adding a column with a "none" default does not change it.
"""

from __future__ import annotations

from sonde.store.schema.collectives import COLLECTIVES
from sonde.store.schema.device import KERNELS, LAUNCHES
from sonde.store.schema.events import COUNTERS, LOSSES, MARKS, MEMORY
from sonde.store.schema.ops import OPS
from sonde.store.schema.primitives import PRIMITIVES
from sonde.store.schema.processes import GROUPS, PROCESSES, THREADS
from sonde.store.schema.samples import FRAMES, SAMPLES, STACKS
from sonde.store.schema.sources import SOURCES
from sonde.store.schema.spec import NONE_VALUE, NUMPY_TYPE, SQL_TYPE, ColumnSpec, TableSpec

VERSION = 1

TABLES: dict[str, TableSpec] = {
    spec.name: spec
    for spec in (
        PROCESSES,
        THREADS,
        FRAMES,
        STACKS,
        SAMPLES,
        OPS,
        KERNELS,
        LAUNCHES,
        PRIMITIVES,
        MEMORY,
        COUNTERS,
        MARKS,
        GROUPS,
        COLLECTIVES,
        LOSSES,
        SOURCES,
    )
}

__all__ = ["NONE_VALUE", "NUMPY_TYPE", "SQL_TYPE", "TABLES", "VERSION", "ColumnSpec", "TableSpec"]
