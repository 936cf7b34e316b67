"""`sonde export`: write other tools' formats."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonde.cli.inputs import add_recording, add_run, fresh_path, open_noted
from sonde.export import FORMATS


class Export:
    """Write a recording in another tool's format."""

    def __init__(self) -> None:
        width = max(map(len, FORMATS))
        listing = "\n".join(f"  {name:{width}}  {f.opens_in}" for name, f in FORMATS.items())
        self.__doc__ = f"Write a recording in another tool's format.\n\n{listing}"

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        add_run(parser)
        parser.add_argument(
            "-f",
            "--format",
            required=True,
            choices=list(FORMATS),
            metavar="FORMAT",
            help="one of the formats above",
        )
        parser.add_argument(
            "-o", "--output", type=Path, metavar="FILE", help="file to write (default: standard output)"
        )
        parser.add_argument("--force", action="store_true", help="overwrite FILE")

    def run(self, options: argparse.Namespace) -> int:
        chosen = FORMATS[options.format]
        recording = open_noted(options.recording, options.run_number)
        write = chosen.writer()
        if options.output is None and (not chosen.binary or not sys.stdout.isatty()):
            sys.stdout.flush()
            write(recording, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return 0
        default = Path(options.recording.name.removesuffix(".sonde") + chosen.suffix)
        target = fresh_path(options.output, default, options.force)
        partial = target.with_name(target.name + ".partial")
        with partial.open("wb") as stream:
            write(recording, stream)
        partial.replace(target)
        print(target)
        return 0
