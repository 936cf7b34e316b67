"""torch: noticed by its import; leaves windows, traces of the program's own profiler, and the names of modules."""

from __future__ import annotations

from sonde import rawfolder
from sonde.record.frameworks.base import Framework, Reading, SourceTables

INSIDE = "sonde.record.frameworks.torch.inside"


def read(reading: Reading) -> list[SourceTables]:
    """The windows that Sonde opened, and the traces that the program exported itself."""
    from sonde.record.frameworks.torch import window_tables

    return window_tables.windows(reading) + window_tables.own_traces(reading)


FRAMEWORK = Framework(
    "torch",
    files=(
        rawfolder.MODULES,
        rawfolder.WINDOWS,
        rawfolder.WINDOW_TRACE,
        rawfolder.WINDOW_LINES,
        rawfolder.WINDOW_CODE,
        rawfolder.OWN_TRACES,
        rawfolder.OWN_TRACE,
        rawfolder.OWN_TRACE_PACKED,
    ),
    read=read,
    library="libtorch",
    noticed_by={"torch": f"{INSIDE}:torch_imported", "torch._dynamo": f"{INSIDE}:dynamo_imported"},
)
