"""`sonde top`: what a running program does now, in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.errors import EnvironmentLacks, InputError, UsageError

if TYPE_CHECKING:
    from sonde.live.following import Following

SECONDS = 10.0
START_S = 30.0  # to wait for the first log of a program that was just started, or attached to
LONGEST_ATTACH_S = 7 * 86_400
WINDOW_STEPS, WINDOW_PATIENCE_S = 3, 60.0


class Top:
    """Watch a running program: steps, lines, operators, kernels, threads, live.

    sonde top                       list the programs that can be watched
    sonde top PID                   a running program
    sonde top NAME.sonde            a recording in progress
    sonde top -- command args…      start a program and watch it

    Press ? for the keys. Quitting ends only a program that top itself started.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "sonde top [options] [PID | NAME.sonde | -- command args…]"
        parser.add_argument(
            "--seconds", type=float, default=SECONDS, metavar="S",
            help=f"show the last S seconds (default {SECONDS:g})",
        )  # fmt: skip
        parser.add_argument("--once", action="store_true", help="print once after S seconds, and exit")
        parser.add_argument("--json", action="store_true", help="with --once: print JSON")
        parser.add_argument("target", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        self._parser = parser

    def run(self, options: argparse.Namespace) -> int:
        words = options.target
        if len(words) > 1 and words[1].startswith("-") and _is_running(words[0]):  # options behind it
            options = self._parser.parse_args([*words[1:], words[0]], options)
        if not 1 <= options.seconds <= 600:
            raise UsageError(f"--seconds {options.seconds:g} is out of range", "use 1 to 600")
        if options.json and not options.once:
            raise UsageError("--json needs --once", "sonde top --once --json PID")
        if not options.target:
            return _list()
        with _watched(options.target) as folder:
            return _once(folder, options) if options.once else _screen(folder, options)


def _is_running(word: str) -> bool:
    """A process id or a recording, not a command."""
    return word.isdigit() or (word.endswith(".sonde") and Path(word).is_dir())


def _list() -> int:
    from sonde.live.targets import candidates
    from sonde.render.text.page import Column, Page

    found = candidates()
    page = Page()
    if not found:
        page.line("No Python or torch program of yours is running.")
        return 0
    page.table(
        [Column("pid", right=True), Column("program"), Column("recorded in"), Column("command", fold=True)],
        [(str(one.pid), one.what, str(one.folder or "–"), one.command) for one in found],
    )
    page.line("Next:  sonde top PID")
    return 0


@contextmanager
def _watched(words: list[str]) -> Iterator[Path]:
    """The folder of the recording to follow, for as long as it is followed."""
    if len(words) == 1 and words[0].isdigit():
        with _of_process(int(words[0])) as folder:
            yield folder
    elif len(words) == 1 and _is_running(words[0]):
        yield Path(words[0])
    else:
        with _started(words[words[0] == "--" :]) as folder:
            yield folder


@contextmanager
def _of_process(pid: int) -> Iterator[Path]:
    from sonde.live.targets import recording_of

    if not Path(f"/proc/{pid}").is_dir():
        raise InputError(f"there is no process {pid}", "sonde top lists those that can be watched")
    folder = recording_of(pid)
    if folder is not None:
        yield folder
        return
    words = ["attach", str(pid), "--all", "--duration", str(LONGEST_ATTACH_S), "--quiet"]
    with _recording(words, [], signal.SIGINT) as folder:
        yield folder


@contextmanager
def _started(command: list[str]) -> Iterator[Path]:
    """A program of our own, which ends with us."""
    is_script = bool(command) and (command[0].endswith(".py") or command[0] == "-m")
    with _recording(["run", "--quiet"], [*([] if is_script else ["--"]), *command], signal.SIGTERM) as folder:
        yield folder


@contextmanager
def _recording(command: list[str], program: list[str], end: signal.Signals) -> Iterator[Path]:
    """`sonde run` or `sonde attach` into a temporary folder until we leave; what it prints is kept in a file."""
    with tempfile.TemporaryDirectory(prefix="sonde-top-") as place:
        folder, output = Path(place) / "program.sonde", Path(place) / "output.txt"
        words = [sys.executable, "-m", "sonde", *command, "-o", str(folder), *program]
        with output.open("wb") as file:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        try:
            _await_log(folder, process, output)
            yield folder
        finally:
            _end(process, end)


def _await_log(folder: Path, process: subprocess.Popen[bytes], output: Path) -> None:
    from sonde import rawfolder

    until = time.monotonic() + START_S
    raw = folder / rawfolder.FOLDER
    while time.monotonic() < until:
        if raw.is_dir() and rawfolder.LOG.find(raw):
            return
        if process.poll() is not None:
            said = output.read_text(errors="replace").strip().splitlines()
            raise InputError(said[-1].removeprefix("sonde: ") if said else "the program ended at once")
        time.sleep(0.05)
    raise EnvironmentLacks(f"the program was not recorded within {START_S:g} s of its start")


def _end(process: subprocess.Popen[bytes], end: signal.Signals) -> None:
    for number in (end, signal.SIGKILL):
        if process.poll() is not None:
            return
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)


def _once(folder: Path, options: argparse.Namespace) -> int:
    from sonde.live.following import Following
    from sonde.render.text.page import Page
    from sonde.render.top.lines import plain

    following = Following(folder, keep_s=options.seconds)
    until = time.monotonic() + options.seconds
    while time.monotonic() < until and not following.ended:
        time.sleep(min(1.0, max(until - time.monotonic(), 0)))
        following.poll()
    now, _ = following.look(options.seconds)
    following.close()
    if options.json:
        print(json.dumps(asdict(now)))
    else:
        page = Page()
        for line in plain(now, page.width):
            page.line(line)
    return 0


def _screen(folder: Path, options: argparse.Namespace) -> int:
    try:
        from sonde.render.top.app import Look, Watched
        from sonde.render.top.app import Top as Screen
    except ImportError as error:
        raise EnvironmentLacks(
            f"sonde top draws with textual, which is not installed ({error.name})",
            "pip install 'sonde-profiler[top]', or: sonde top --once PID",
        ) from None
    if not sys.stdout.isatty():
        raise UsageError("sonde top needs a terminal", "into a pipe or file: sonde top --once")
    from sonde.live.following import Following

    following = Following(folder, keep_s=max(options.seconds, 60))

    def look() -> Look:
        now, recording = following.look(options.seconds)
        return Look(now, recording, following.ended)

    Screen(
        Watched(
            look,
            window=lambda: _window(following),
            save=lambda: _save(folder),
            dump=lambda: _dump(following),
        )
    ).run()
    following.close()
    return 0


def _window(following: Following) -> str:
    from sonde.record.outside.attach.ask import record_window

    pids = following.pids()
    if not pids:
        raise InputError("the program has ended")
    taken_s = record_window(pids[0], WINDOW_STEPS, WINDOW_PATIENCE_S)
    return (
        f"Recorded {WINDOW_STEPS} steps of process {pids[0]} in detail within {taken_s:.1f} s; s saves them"
    )


def _save(folder: Path) -> str:
    from sonde.record.outside.snapshot import snapshot

    name = time.strftime(f"{folder.name.removesuffix('.sonde')}-%H%M%S.sonde")
    to = Path.cwd() / name
    snapshot(folder, to)
    return f"Saved {os.path.relpath(to)}   Next:  sonde report {os.path.relpath(to)} --open"


def _dump(following: Following) -> str:
    from sonde.live.dump import dump
    from sonde.render.text import dump as text
    from sonde.symbols.resolver import Resolver

    resolver = Resolver(with_lines=False)
    return str(text.as_text([dump(pid, resolver) for pid in following.pids()], python_only=False))
