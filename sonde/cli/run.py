"""`sonde run`: run a program as it is, and record it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.cli.inputs import fresh_path
from sonde.cli.recording_options import add_recording_options, asked
from sonde.cli.watch import watcher
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.record.outside.launch import LaunchResult
    from sonde.record.outside.options import RunOptions


class Run:
    """Run a program and record where its time goes.

    sonde run [options] script.py args…     a Python script
    sonde run [options] -m module args…     a Python module
    sonde run [options] -- command args…    any command

    Output, exit code and signals are the program's own. Sonde writes to stderr,
    after the program has ended. A program that cannot be recorded still runs;
    one line says why.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.usage = "sonde run [options] (script.py | -m module | -- command) args…"
        add_recording_options(parser)
        parser.add_argument(
            "--job",
            metavar="ID",
            help="name of a distributed job: each host records to ID.HOST.sonde, for `sonde merge`",
        )
        parser.add_argument(
            "--primitives", action="store_true", help="record oneDNN and MKL calls in some steps"
        )
        parser.add_argument(
            "--shapes", action="store_true",
            help="record operator calls and shapes of native (C++) torch programs, within --budget: 0.5 to 1 µs "
            "per call; builds a small library for the program's torch once, which takes about 10 s",
        )  # fmt: skip
        parser.add_argument(
            "--env-file", type=Path, metavar="FILE", help="file with KEY=VALUE lines to set for the program"
        )
        parser.add_argument(
            "--blocks", action="store_true", help="measure Sonde's overhead with on/off blocks"
        )
        parser.add_argument(
            "--dormant", action="store_true",
            help="record nothing: the agent sleeps in the program until `sonde attach` wakes it; "
            "without a program, print the library to preload with SONDE_DORMANT=1",
        )  # fmt: skip
        parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.record.outside.always import run_always
        from sonde.record.outside.place import plain_name

        if options.dormant:
            return _run_dormant(options)
        command, name = program(options)
        if options.job:  # hosts that share a folder do not meet
            name = f"{options.job}.{os.uname().nodename}"
        folder = _wanted(options.output, Path(f"{plain_name(name)}.sonde"), options.force)
        wanted = asked(
            options,
            primitives=options.primitives,
            shapes=options.shapes,
            env_file=options.env_file,
            blocks=options.blocks,
            job=options.job,
        )
        result, recorded = run_always(command, folder, wanted, say, watcher(options, say))
        if recorded is not None:
            finish_recording(recorded, result, wanted, options.quiet)
        if result.signal:
            _die_of(result.signal)
        return result.exit_code


def _run_dormant(options: argparse.Namespace) -> int:
    """Become the program, with the agent asleep in it."""
    from sonde.native import agent_path

    library = str(agent_path())
    if options.module is None and not [word for word in options.command if word != "--"]:
        print(library)
        return 0
    command, _ = program(options)
    others = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = f"{library}:{others}" if others else library
    os.environ["SONDE_DORMANT"] = "1"
    return os.execvp(command[0], command)  # never returns


def _wanted(output: Path | None, default: Path, force: bool) -> Path:
    """The folder to record into. Not a file, nor one that cannot be removed: the recording goes beside it."""
    try:
        if output is not None and not force and output.is_file():
            return output
        return fresh_path(output, default, force)
    except OSError:
        return output or default


def say(text: str) -> None:
    """One line for the user; nowhere when stderr is closed or its reader gone."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        print(f"sonde: {text}", file=sys.stderr, flush=True)


def finish_recording(folder: Path, result: LaunchResult, wanted: RunOptions, quiet: bool) -> None:
    """Make the tables and print the summary; what fails is reported, and the logs stay for `sonde recover`."""
    from sonde.errors import SondeError
    from sonde.record.outside.apart import Failed, apart
    from sonde.record.outside.place import one_line

    def finish() -> None:
        from sonde.record.outside.job import finish
        from sonde.render.text.page import Page
        from sonde.render.text.progress import Progress
        from sonde.render.text.summary import show_summary

        progress = Progress(None if quiet else sys.stderr)
        recording = finish(folder, result, wanted, progress.stage)
        progress.done()
        if not quiet and sys.stderr is not None:
            with contextlib.suppress(BrokenPipeError):
                show_summary(recording, Page(sys.stderr), str(folder))

    shown = one_line(folder)
    try:
        apart(finish)
    except (Failed, SondeError, OSError) as error:
        if _is_complete(folder):
            say(f"the summary could not be printed: {error} → sonde report {shown}")
        else:
            say(f"the recording is not finished: {error} → sonde recover {shown}")
    if result.left:
        names = ", ".join(f"{one.pid} ({Path(one.program).name})" for one in result.left[:3])
        more = "" if len(result.left) <= 3 else f" and {len(result.left) - 3} more"
        say(f"still running: {names}{more}; when it has ended: sonde recover {shown}")


def _is_complete(folder: Path) -> bool:
    """Are the tables written? Asked without loading what reads them."""
    try:
        return bool(json.loads((folder / "meta.json").read_text(encoding="utf-8"))["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def program(options: argparse.Namespace) -> tuple[list[str], str]:
    """The command to start, and a short name for it."""
    if options.module is not None:
        if not options.module:
            raise UsageError("-m needs a module name", "for example: sonde run -m package.train")
        return [sys.executable, "-m", *options.module], options.module[0].rpartition(".")[2]
    words: list[str] = options.command
    dashed = bool(words) and words[0] == "--"
    words = words[1:] if dashed else words
    if not words:
        raise UsageError("no program given", "for example: sonde run train.py --epochs 1")
    path = Path(words[0])
    if not dashed and _is_python(path):
        return [sys.executable, *words], path.stem
    if shutil.which(words[0]) is None:
        kind = "is not executable" if path.exists() else "does not exist"
        raise UsageError(f"{words[0]} {kind}", "give a Python script, or a command after --")
    return words, path.stem


def _is_python(path: Path) -> bool:
    """A script, a folder with __main__.py or a zipped application: what `python PATH` runs."""
    if path.is_dir():
        return (path / "__main__.py").exists()
    return path.is_file() and (path.suffix in (".py", ".pyz", ".pyc") or not os.access(path, os.X_OK))


def _die_of(signal_number: int) -> None:
    """End as the program ended, so that a shell sees the same."""
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core file, if any, was the program's to write
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or its reader is gone
            stream.flush()
    if signal_number != signal.SIGKILL:  # which has no handler to set back
        signal.signal(signal_number, signal.SIG_DFL)
    os.kill(os.getpid(), signal_number)
