"""`sonde daemon`: traces of running programs by torch's own profiler, without Sonde inside."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.cli.inputs import fresh_path
from sonde.errors import InputError, UsageError

if TYPE_CHECKING:
    from sonde.live.kineto_ipc import KinetoDaemon

WAIT_S = 60.0
LOOK_S = 6.0  # programs ask every five seconds


class Daemon:
    """Get a trace of running programs from torch's own profiler.

    Programs must have been started with KINETO_USE_DAEMON=1; they need not run under Sonde.
    All of them start tracing at the same moment, so that the ranks of a job line up.

    sonde daemon --list                 list the programs that can be traced
    sonde daemon --steps 3              three steps of all of them, as one recording
    sonde daemon --ms 500 --pid 4711    half a second of one process
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--list", action="store_true", help="list the programs that can be traced, and exit"
        )
        parser.add_argument(
            "--pid", type=int, nargs="+", metavar="PID", help="trace only these processes (default: all)"
        )
        amount = parser.add_mutually_exclusive_group()
        amount.add_argument("--steps", type=int, metavar="N", help="number of optimizer steps to trace")
        amount.add_argument("--ms", type=int, metavar="MS", help="milliseconds to trace (default 500)")
        parser.add_argument("--stacks", action="store_true", help="record Python stacks too (adds overhead)")
        parser.add_argument("--no-shapes", action="store_true", help="do not record operator shapes")
        parser.add_argument("-o", "--output", type=Path, metavar="NAME.sonde", help="recording to write")
        parser.add_argument("--force", action="store_true", help="overwrite an existing recording")
        parser.add_argument(
            "--wait", type=float, default=WAIT_S, metavar="S",
            help=f"how long to wait for traces (default {WAIT_S:g} s)",
        )  # fmt: skip

    def run(self, options: argparse.Namespace) -> int:
        from sonde.live.kineto_ipc import KinetoDaemon

        for name in ("steps", "ms"):
            if (value := getattr(options, name)) is not None and not 1 <= value <= 100_000:
                raise UsageError(f"--{name} {value} is out of range", "use 1 to 100000")
        daemon = KinetoDaemon()
        try:
            _look(daemon, options.pid)
            return _list(daemon) if options.list else _trace(daemon, options)
        finally:
            daemon.close()


def _look(daemon: KinetoDaemon, pids: list[int] | None) -> None:
    """Until everyone who can ask has asked."""
    _say(f"listening for {LOOK_S:g} s: programs with KINETO_USE_DAEMON=1 report every few seconds")
    until = time.monotonic() + LOOK_S
    while time.monotonic() < until and not (pids and all(pid in daemon.clients for pid in pids)):
        daemon.serve(0.2)


def _list(daemon: KinetoDaemon) -> int:
    from sonde.live.on_demand import rank_of
    from sonde.render.text.page import Column, Page

    page = Page()
    if not daemon.clients:
        page.line("No program reported. Start the program with KINETO_USE_DAEMON=1 in its environment.")
    else:
        rows = [(str(pid), _shown(rank_of(pid)), _command(pid)) for pid in sorted(daemon.clients)]
        page.table(
            [Column("pid", right=True), Column("rank", right=True), Column("command", fold=True)], rows
        )
        page.line("Next:  sonde daemon --steps 3")
    for pid, uid in sorted(daemon.refused.items()):
        page.line(f"Process {pid} belongs to another user ({uid}) and was not answered.")
    return 0


def _trace(daemon: KinetoDaemon, options: argparse.Namespace) -> int:
    from sonde.ingest import open_any
    from sonde.live.on_demand import Wanted, collect
    from sonde.store.files import PRIVATE_FOLDER
    from sonde.store.writer import write_tables

    pids = options.pid or sorted(daemon.clients)
    unknown = [pid for pid in pids if pid not in daemon.clients]
    if unknown:
        raise InputError(
            f"process {unknown[0]} did not report",
            "was it started with KINETO_USE_DAEMON=1? see: sonde daemon --list",
        )
    if not pids:
        raise InputError(
            "no program reported", "start the program with KINETO_USE_DAEMON=1 in its environment"
        )
    target = fresh_path(options.output, Path("on-demand.sonde"), options.force)
    wanted = Wanted(options.steps or 0, options.ms or 500, not options.no_shapes, options.stacks)
    with tempfile.TemporaryDirectory(prefix="sonde-daemon-") as place:
        _say(f"asking {len(pids)} process{'es' if len(pids) > 1 else ''} for a trace")
        found = collect(daemon, pids, wanted, Path(place), options.wait, _say)
        for pid in found.empty:
            _say(f"process {pid} ran no operators (is it a launcher?); left out")
        for pid in found.silent:
            _say(
                f"no trace of process {pid} within {options.wait:g} s: "
                "its own profiler may be running, or it made no step"
            )
        if not found.traces:
            raise InputError(
                "no trace arrived", "wait longer with --wait, or ask for --ms instead of --steps"
            )
        recording = open_any(found.traces[0] if len(found.traces) == 1 else Path(place))
        target.mkdir(mode=PRIVATE_FOLDER, parents=True)
        write_tables(target, recording.tables())
        recording.meta.write(target)
    print(target)
    _say(f"Next:  sonde show {target} ops     sonde report {target} --open")
    return 0


def _say(text: str) -> None:
    print(f"sonde: {text}", file=sys.stderr, flush=True)


def _shown(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return "(ended)"
    return " ".join(word.decode("utf-8", "replace") for word in words)
