"""Formats of other tools, in one table. Adding one is one file and one line here.

Each module has `write(recording, stream)`, where `stream` takes bytes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    module: str
    suffix: str
    opens_in: str
    needs_file: bool = False  # binary: not written to a terminal by default


FORMATS: dict[str, Format] = {
    "collapsed": Format("sonde.export.collapsed", ".txt", "flamegraph.pl, inferno, speedscope"),
}
