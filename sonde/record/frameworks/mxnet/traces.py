"""raw/PID.mxnet.json → `ops` and `counters`; its engine's threads have no names there that the system knows."""

from __future__ import annotations

from sonde import rawfolder
from sonde.errors import SondeError
from sonde.ingest.mxnet import trace
from sonde.link import link_calls
from sonde.link.clocks import from_epoch, on_our_clock
from sonde.record.frameworks.base import Reading, SourceTables

UNCERTAINTY_NS = 1_000_000  # whole microseconds of a wall clock read once at start


def traces(reading: Reading) -> list[SourceTables]:
    """The traces that MXNet's profiler wrote for us."""
    found = []
    for pid, _, path in rawfolder.MXNET_TRACE.find(reading.raw):
        process = reading.roster.process(pid)
        offset = reading.epoch_offset_ns.get(pid, 0)
        try:
            _, decoded = trace.decode(path)
        except (SondeError, OSError, ValueError) as error:
            reading.lose(process, "mxnet_trace_unreadable", 1, "files", f"{path.name}: {error}")
            continue
        tables = {name: decoded[name] for name in ("ops", "counters", "threads", "losses")}
        tables = reading.numbered(on_our_clock(tables, from_epoch(offset)), process)
        found.append(SourceTables(link_calls(tables), UNCERTAINTY_NS))
    return found
