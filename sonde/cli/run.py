"""`sonde run`: run a program as it is, and record it."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from sonde.cli.inputs import fresh_path
from sonde.errors import UsageError


class Run:
    """Run a program as it is, and record where its time goes.

    sonde run [options] script.py args…     a Python script
    sonde run [options] -m module args…     a Python module
    sonde run [options] -- command args…    any command

    Output, exit code and signals are the program's own. Sonde writes to stderr,
    after the program has ended.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        from sonde.record.options import BUDGET_PERCENT, RATE_HZ

        parser.usage = "sonde run [options] (script.py | -m module | -- command) args…"
        parser.add_argument("-o", "--output", type=Path, metavar="NAME.sonde", help="where to record")
        parser.add_argument("--force", action="store_true", help="overwrite that recording")
        parser.add_argument(
            "--rate", type=float, default=RATE_HZ, metavar="HZ", help="samples per CPU second"
        )
        parser.add_argument(
            "--window",
            default="auto",
            metavar="auto|all|none|steps=A:B",
            help="steps to record deeply with the framework's own profiler",
        )
        parser.add_argument(
            "--budget", type=float, default=BUDGET_PERCENT, metavar="PERCENT",
            help=f"run time that deep windows may cost (default {BUDGET_PERCENT:g})",
        )  # fmt: skip
        parser.add_argument(
            "--primitives", action="store_true", help="record oneDNN and MKL calls of some steps"
        )
        parser.add_argument(
            "--shapes", action="store_true",
            help="record operator calls and shapes of native (C++) torch programs, within --budget: 0.5 to 1 µs "
            "per call; builds a small library for the program's torch once, which takes about 10 s",
        )  # fmt: skip
        parser.add_argument(
            "--env-file", type=Path, metavar="FILE", help="KEY=VALUE lines to set for the program"
        )
        parser.add_argument("--no-waits", action="store_true", help="do not record where threads wait")
        parser.add_argument("--blocks", action="store_true", help="measure Sonde's own cost by on/off blocks")
        parser.add_argument("--keep-raw", action="store_true", help="keep the raw logs beside the tables")
        parser.add_argument("--quiet", action="store_true", help="print no summary")
        parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.record.job import record
        from sonde.record.options import RunOptions

        command, name = program(options)
        folder = fresh_path(options.output, Path(f"{name}.sonde"), options.force)
        asked = RunOptions(
            rate_hz=options.rate,
            window=options.window,
            budget_percent=options.budget,
            primitives=options.primitives,
            shapes=options.shapes,
            env_file=options.env_file,
            keep_raw=options.keep_raw,
            waits=not options.no_waits,
            blocks=options.blocks,
        )
        outcome = record(command, folder, asked)
        if not options.quiet:
            from sonde.render.text.page import Page
            from sonde.render.text.summary import show_summary

            show_summary(outcome.recording, Page(sys.stderr), str(folder))
        if outcome.signal:
            _die_of(outcome.signal)
        return outcome.exit_code


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
    sys.stdout.flush()
    sys.stderr.flush()
    if signal_number != signal.SIGKILL:  # which has no handler to set back
        signal.signal(signal_number, signal.SIG_DFL)
    os.kill(os.getpid(), signal_number)
