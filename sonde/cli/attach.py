"""`sonde attach`: record a program that already runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from sonde.cli.inputs import fresh_path
from sonde.cli.recording_options import add_recording_options, asked
from sonde.cli.watch import watcher
from sonde.errors import UsageError


class Attach:
    """Record a running program, without restarting it.

    sonde attach PID                 for 30 s, or until Ctrl-C
    sonde attach --name train.py     the program with this name
    sonde attach PID --all           with all its child processes (ranks, DataLoader workers)

    The agent is loaded into the program and unloaded at the end; the program
    keeps running. The result is the same kind of recording that `sonde run` writes.
    `sonde check --pid PID` tells whether attaching is possible.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pid", type=int, nargs="?", metavar="PID", help="the process to record")
        parser.add_argument(
            "--name", metavar="NAME", help="find the process by its script's or program's name"
        )
        parser.add_argument("--all", action="store_true", help="also record its child processes")
        parser.add_argument(
            "-d",
            "--duration",
            type=float,
            default=30.0,
            metavar="SECONDS",
            help="how long to record (default 30)",
        )
        add_recording_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.cli.run import finish_recording, say
        from sonde.record.outside.attach.job import attach
        from sonde.record.outside.attach.processes import command_of, tree_of
        from sonde.record.outside.place import plain_name

        pid = _wanted(options)
        if options.duration <= 0:
            raise UsageError(f"--duration {options.duration:g} is not a time", "give seconds, for example 30")
        words = [word for word in command_of(pid) if word.endswith(".py")] or command_of(pid)[:1]
        stem = Path(words[0]).stem if words and words[0] else str(pid)
        folder = fresh_path(options.output, Path(f"{plain_name(stem)}.sonde"), options.force)
        wanted = asked(options)
        pids = tree_of(pid) if options.all else [pid]
        seconds = None if options.watch else options.duration
        result, target = attach(pids, folder, seconds, wanted, say, watcher(options, say))
        if not options.quiet:
            stop_ms = max(visit.cost.stop_ms for visit in target.visits)
            number = len(target.visits)
            what = "the process" if number == 1 else f"{number} processes"
            say(f"detached from {what}; no thread was paused for more than {stop_ms:.1f} ms")
        finish_recording(folder, result, wanted, options.quiet)
        return 0


def _wanted(options: argparse.Namespace) -> int:
    from sonde.record.outside.attach.processes import one_named

    if (options.pid is None) == (options.name is None):
        raise UsageError("which process?", "give a process id, or --name NAME")
    return options.pid if options.pid is not None else one_named(options.name)
