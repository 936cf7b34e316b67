"""`sonde import`: turn what another tool wrote into a recording."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonde.cli.inputs import add_recording, add_run, fresh_path, open_noted


class Import:
    """Turn a trace or log of another tool into a recording.

    Every command can read such files directly. Importing pays off when you open a large
    trace often, or want to read its tables with another database.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        add_run(parser)
        parser.add_argument("-o", "--output", type=Path, metavar="NAME.sonde", help="where to write")
        parser.add_argument("--force", action="store_true", help="overwrite it")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.store.files import PRIVATE_FOLDER
        from sonde.store.writer import write_tables

        recording = open_noted(options.recording, options.run_number)
        name = options.recording.name
        for suffix in (".gz", ".json", ".txt", ".log"):
            name = name.removesuffix(suffix)
        target = fresh_path(options.output, Path(f"{name}.sonde"), options.force)
        target.mkdir(mode=PRIVATE_FOLDER, parents=True)
        write_tables(target, recording.tables())
        recording.meta.write(target)
        print(target)
        return 0
