"""`sonde watch`: record a program for as long as it runs, within fixed bounds."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sonde.errors import InputError, UsageError

if TYPE_CHECKING:
    from sonde.live.watch.loop import Watch as Loop
    from sonde.live.watch.place import Place
    from sonde.record.outside.options import Ring

PATIENCE_S = 30.0


class Watch:
    """Record a program for as long as it runs, and keep the last minutes.

    sonde watch PID                 a running program, with its child processes
    sonde run --watch train.py      a program from its start
    sonde watch NAME.sonde          a recording in progress
    sonde watch --save NAME.sonde   save the last minutes now

    Each minute adds a line to NAME.watch/minutes.jsonl. When a step takes unusually long,
    or steps become slower, the last minutes are saved as a recording in the same folder.
    --save, or SIGUSR1 sent to the watching process, does the same at any time.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "target", metavar="PID | NAME.sonde", help="the process or the recording to watch"
        )
        parser.add_argument(
            "--save", action="store_true", help="save the last minutes of a recording that is being watched"
        )
        parser.add_argument("-o", "--output", type=Path, metavar="NAME.sonde", help="recording to write")
        parser.add_argument("--force", action="store_true", help="overwrite an existing recording")
        add_watch_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        if options.save:
            return _save(_recording_of(options.target))
        if not options.target.isdigit():
            return _follow(Path(options.target), options)
        from sonde.cli.main import load

        attach, parser = load("attach")
        words = [options.target, "--all", "--watch", "--ring", f"{options.ring:g}"]
        words += ["--ring-size", f"{options.ring_size:g}", *(f"--push={text}" for text in options.push)]
        words += ["-o", str(options.output)] if options.output else []
        return attach.run(parser.parse_args([*words, *(["--force"] if options.force else [])]))


def add_watch_options(parser: argparse.ArgumentParser, flag: bool = False) -> None:
    """Those of `sonde watch`; `flag`: for a command that watches only with --watch."""
    from sonde.push import SINKS
    from sonde.record.outside.options import RING_MB, RING_MINUTES

    if flag:
        parser.add_argument(
            "--watch", action="store_true",
            help="keep only the last minutes, and a line for each minute; save a recording when something is unusual",
        )  # fmt: skip
    only = "with --watch: " if flag else ""
    parser.add_argument(
        "--ring", type=float, default=RING_MINUTES, metavar="MINUTES",
        help=f"{only}minutes to keep (default {RING_MINUTES:g})",
    )  # fmt: skip
    parser.add_argument(
        "--ring-size", type=float, default=RING_MB, metavar="MB",
        help=f"{only}disk space for them per process (default {RING_MB})",
    )  # fmt: skip
    known = "; ".join(f"{name}= {entry.line}" for name, entry in SINKS.items())
    parser.add_argument(
        "--push", action="append", default=[], metavar="KIND=ADDRESS",
        help=f"{only}send each minute to a server on this machine. {known}",
    )  # fmt: skip


def ring_of(options: argparse.Namespace) -> Ring:
    """As asked, checked; what to push is checked too, before a program is started."""
    from sonde.push import check
    from sonde.record.outside.options import Ring

    check(options.push)
    if options.window == "all":
        raise UsageError("--window all writes without bounds", "with --watch use --window none or steps=A:B")
    return Ring(options.ring * 60, round(options.ring_size * (1 << 20)))


def window_of(options: argparse.Namespace) -> str:
    """Windows write traces of many megabytes: a watch has only those that somebody asks for."""
    return "none" if options.watch and options.window == "auto" else str(options.window)


def watcher(options: argparse.Namespace, say: Callable[[str], None]) -> Callable[[Path], None]:
    """What to do before the program starts."""

    def start(folder: Path) -> None:
        if not options.watch:
            return
        try:
            _start_watcher(folder, options)
        except OSError as error:
            say(f"watching failed: {error.strerror}; the last minutes are still kept")

    return start


def _start_watcher(folder: Path, options: argparse.Namespace) -> None:
    """`sonde watch FOLDER` beside us: a process of init's, since the children of `sonde run` are the program's."""
    words = [sys.executable, "-m", "sonde", "watch", str(folder), "--ring", f"{options.ring:g}"]
    words += [f"--push={text}" for text in options.push]
    child = os.fork()
    if child == 0:
        _become_watcher(folder, words)
    os.waitpid(child, 0)


def _become_watcher(folder: Path, words: list[str]) -> NoReturn:
    """In the child: never returns."""
    try:
        from sonde.live.watch.place import LOG, of_recording
        from sonde.store.files import PRIVATE_FOLDER

        if os.fork() == 0:
            os.setsid()
            place = of_recording(folder).folder
            place.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            output = os.open(place / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.nice(5)
            os.execv(words[0], words)
    finally:
        os._exit(0)


def _follow(folder: Path, options: argparse.Namespace) -> int:
    """Watch a recording in progress until it is finished."""
    from sonde import rawfolder
    from sonde.live.watch.place import of_recording

    raw = folder / rawfolder.FOLDER
    until = time.monotonic() + PATIENCE_S
    while not (raw.is_dir() and rawfolder.LOG.find(raw)):
        if time.monotonic() > until or not folder.is_dir():
            raise InputError(f"{folder} is not a recording in progress", "start one: sonde run --watch")
        time.sleep(0.2)
    place = of_recording(folder)
    place.make(folder)
    try:
        _watch(folder, place, options)
    finally:
        place.leave()
    return 0


def _watch(folder: Path, place: Place, options: argparse.Namespace) -> None:
    from sonde import rawfolder
    from sonde.live.following import Following
    from sonde.live.watch.loop import LOOK_EVERY_S, Watch
    from sonde.live.watch.own import SystemClock, own_cpu_s
    from sonde.live.watch.place import sweep
    from sonde.push import Labels, make_sinks

    job = Following(folder, keep_s=90)
    labels = Labels(job.meta.program, os.uname().nodename, float(job.meta.options.get("rate_hz", 100) or 100))
    sinks = make_sinks(options.push, labels)
    over = threading.Event()
    watch = Watch(
        job,
        place,
        SystemClock(),
        save=lambda to: _snapshot(folder, to),
        own_cpu_s=lambda: own_cpu_s(job.pids()),
        quiet_s=options.ring * 30,
        sinks=sinks,
    )
    _obey(watch, over)
    raw, ticks = folder / rawfolder.FOLDER, 0
    while not over.wait(LOOK_EVERY_S) and raw.is_dir() and not job.is_over():
        watch.tick()
        ticks += 1
        if ticks % 30 == 0:
            sweep(raw, options.ring * 60, time.time())
    watch.end_minute()
    job.close()


def _obey(watch: Loop, over: threading.Event) -> None:
    signal.signal(signal.SIGUSR1, lambda number, frame: watch.ask())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: over.set())


def _snapshot(folder: Path, to: Path) -> None:
    """In a process apart: what naming needs is given back at once, and a full disk or memory ends it alone."""
    from sonde.record.outside.apart import Failed, apart
    from sonde.record.outside.snapshot import snapshot

    def work() -> None:
        snapshot(folder, to)

    try:
        apart(work)
    except Failed as error:
        raise OSError(str(error)) from None


def _recording_of(target: str) -> Path:
    if not target.isdigit():
        return Path(target)
    from sonde.live.targets import recording_of

    found = recording_of(int(target))
    if found is None:
        raise InputError(
            f"process {target} is not being recorded", "give the recording: sonde watch --save NAME.sonde"
        )
    return found


def _save(recording: Path) -> int:
    """Ask the one who watches, and wait until it is done."""
    from sonde.live.watch.place import of_recording

    place = of_recording(recording)
    watcher = place.watcher()
    if watcher is None:
        raise UsageError(f"{recording} is not being watched", f"sonde watch {recording}")
    before = len(place.lines())
    os.kill(watcher, signal.SIGUSR1)
    until = time.monotonic() + 2 * PATIENCE_S
    while time.monotonic() < until:
        for line in place.lines()[before:]:
            if line["kind"] == "saved" and line["why"] == "asked for":
                print(f"saved {place.folder / line['recording']}")
                return 0
            if line["kind"] == "not-saved":
                raise InputError(f"the last minutes could not be saved: {line['why']}")
        time.sleep(0.1)
    raise InputError(f"process {watcher} did not answer within {2 * PATIENCE_S:g} s")
