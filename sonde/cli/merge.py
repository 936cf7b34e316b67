"""`sonde merge`: the recordings of one job's hosts as one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonde.cli.inputs import fresh_path


class Merge:
    """Merge the recordings of a job, one per host, onto one clock.

    Clocks are aligned by the collectives that the hosts share; the output says how
    precisely. Recordings that cannot be aligned are refused. Missing and duplicate
    ranks, and ranks of another job, are reported. Any other command also takes a
    folder with such recordings.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "recordings", type=Path, nargs="+", metavar="REC", help="recordings, or folders that hold them"
        )
        parser.add_argument("-o", "--output", type=Path, metavar="JOB.sonde", help="where to write")
        parser.add_argument("--force", action="store_true", help="overwrite an existing recording")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.ingest.ranks.hosts import find_recordings, open_hosts
        from sonde.store.files import PRIVATE_FOLDER
        from sonde.store.writer import write_tables

        paths = [one for path in options.recordings for one in (find_recordings(path) or [path])]
        recording = open_hosts(paths)
        details = recording.meta.details
        for note in details["notes"]:
            print(f"Note: {note}", file=sys.stderr)
        target = fresh_path(options.output, Path("job.sonde"), options.force)
        target.mkdir(mode=PRIVATE_FOLDER, parents=True)
        write_tables(target, recording.tables())
        recording.meta.write(target)
        print(f"Clocks: {details['rank_clocks']['words']}", file=sys.stderr)
        print(target)
        return 0
