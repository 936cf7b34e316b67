"""MXNet: noticed by its import; leaves the trace of its own profiler."""

from __future__ import annotations

from sonde import rawfolder
from sonde.record.frameworks.base import Framework, Reading, SourceTables


def read(reading: Reading) -> list[SourceTables]:
    from sonde.record.frameworks.mxnet import traces

    return traces.traces(reading)


FRAMEWORK = Framework(
    "mxnet",
    files=(rawfolder.MXNET_TRACE,),
    read=read,
    library="libmxnet",
    noticed_by={"mxnet": "sonde.record.frameworks.mxnet.inside:imported"},
)
