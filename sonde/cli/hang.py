"""`sonde hang`: why a job of ranks stands still."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.errors import InputError

if TYPE_CHECKING:
    from sonde.analyze.ranks.hang import RankState


class Hang:
    """Find out why a distributed job hangs, and which rank is the cause.

    Give the process ids of the ranks or of their launcher (torchrun, mp.spawn);
    without any, all ranks on this machine are examined. Nothing is loaded into the
    program; its threads are paused for a few milliseconds. Under `sonde run` the
    collective that each rank is in is known; otherwise it is inferred from stacks.

    After the job has ended, give its recording, or a folder with dumps of torch's
    flight recorder (JSON or pickle), one file per rank.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "what",
            nargs="*",
            metavar="PID|REC|FOLDER",
            help="process ids, a recording, or a folder of flight-recorder dumps",
        )
        parser.add_argument("--stacks", action="store_true", help="print all stacks below the verdict")
        parser.add_argument("--json", action="store_true", help="print JSON with stable keys for programs")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.analyze.ranks.hang import verdict
        from sonde.render.text.hang import as_json, show_hang
        from sonde.render.text.page import Page

        pids = [int(word) for word in options.what if word.isdigit()]
        paths = [Path(word) for word in options.what if not word.isdigit()]
        if paths and (pids or len(paths) > 1):
            raise InputError("give either process ids or one recording or folder")
        notes: list[str] = []
        stacks = ""
        if paths:
            states, size = _ended(paths[0])
        else:
            from sonde.live.ranks import all_ranks, find_ranks, look_at, world_size
            from sonde.render.text import dump as dump_text

            ranks = find_ranks(pids) if pids else all_ranks()
            if not ranks:
                raise InputError(
                    "no rank of a distributed job runs here", "give the process id of the launcher"
                )
            looks = look_at(ranks)
            states, size = [look.state for look in looks], world_size(ranks)
            notes = [
                f"rank {k.state.rank} (pid {k.state.pid}) could not be read: {k.why}" for k in looks if k.why
            ]
            if not any(s.known for s in states):
                notes.append(
                    "which collective each rank is in is not known: the job does not run under sonde run"
                )
            if options.stacks:
                stacks = dump_text.as_text([k.dump for k in looks if k.dump is not None], python_only=False)
        found = verdict(states, size)
        if options.json:
            print(as_json(found, states, notes))
            return 0
        page = Page()
        show_hang(found, states, notes, page)
        if stacks:
            print(f"\n{stacks}")
        return 0


def _ended(path: Path) -> tuple[list[RankState], int]:
    from sonde.store.reader import is_recording

    if is_recording(path):
        from sonde.analyze.ranks.job import Job
        from sonde.cli.inputs import open_input
        from sonde.live.ended_job import states_of

        recording = open_input(path)
        return states_of(recording), Job(recording.table).world_size
    if not path.is_dir():
        raise InputError(
            f"{path} is neither a recording nor a folder", "give process ids, a recording or a folder"
        )
    from sonde.ingest.flight_recorder import read_folder

    states = read_folder(path)
    sizes = [len(p.ranks) for s in states for p in (*s.pending, *s.last.values())]
    return states, max(sizes, default=-1)
