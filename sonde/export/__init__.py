"""Formats of other tools, in one table. Adding one is one file and one line here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from sonde.store.recording import Recording


@dataclass(frozen=True)
class Format:
    """A format; `function` of `module` is called as function(recording, stream of bytes)."""

    module: str
    suffix: str
    opens_in: str
    function: str = "write"
    binary: bool = False  # goes to a file by default, not to the terminal

    def writer(self) -> Callable[[Recording, BinaryIO], None]:
        found: Callable[[Recording, BinaryIO], None] = getattr(
            importlib.import_module(self.module), self.function
        )
        return found


FORMATS: dict[str, Format] = {
    "collapsed": Format("sonde.export.collapsed", ".txt", "flamegraph.pl, inferno, speedscope"),
    "speedscope": Format("sonde.export.speedscope", ".speedscope.json", "speedscope"),
    "pprof": Format("sonde.export.pprof", ".pb.gz", "go tool pprof, Pyroscope", binary=True),
    "perfetto": Format("sonde.export.perfetto", ".pftrace", "Perfetto", binary=True),
    "chrome": Format("sonde.export.chrome", ".trace.json", "Perfetto, chrome://tracing, torch's viewers"),
    "firefox": Format("sonde.export.firefox", ".firefox.json", "profiler.firefox.com"),
    "svg": Format("sonde.export.svg", ".svg", "any browser: a static flame graph"),
    "csv": Format("sonde.export.tables", ".csv.zip", "spreadsheets: a file per table", "write_csv", True),
    "parquet": Format("sonde.export.tables", ".parquet.zip", "DuckDB, Polars, Spark", "write_parquet", True),
    "json": Format("sonde.export.tables", ".json", "programs: every table as columns", "write_json"),
}
