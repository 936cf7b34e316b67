"""`sonde export`: write other tools' formats."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonde.cli.inputs import add_recording, fresh_path, open_input
from sonde.export import FORMATS


class Export:
    """Write a recording in another tool's format."""

    def __init__(self) -> None:
        width = max(map(len, FORMATS))
        listing = "\n".join(f"  {name:{width}}  {f.opens_in}" for name, f in FORMATS.items())
        self.__doc__ = f"Write a recording in another tool's format.\n\n{listing}"

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        parser.add_argument("-f", "--format", required=True, choices=list(FORMATS), metavar="FORMAT")
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
        parser.add_argument("--force", action="store_true", help="overwrite FILE")

    def run(self, options: argparse.Namespace) -> int:
        import importlib

        chosen = FORMATS[options.format]
        recording = open_input(options.recording)
        writer = importlib.import_module(chosen.module)
        if options.output is None and chosen.needs_file:
            default = Path(options.recording.name.removesuffix(".sonde") + chosen.suffix)
            options.output = fresh_path(None, default, options.force)
        if options.output is None:
            sys.stdout.flush()
            writer.write(recording, sys.stdout.buffer)
            return 0
        target = fresh_path(options.output, options.output, options.force)
        partial = target.with_name(target.name + ".partial")
        with partial.open("wb") as stream:
            writer.write(recording, stream)
        partial.replace(target)
        print(target)
        return 0
