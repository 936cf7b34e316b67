"""What the commands that run experiments share: options, the journal, the live line, and how they end."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sonde.errors import SondeError, Terminated, UsageError

if TYPE_CHECKING:
    from sonde.experiment.proving.journal import Journal
    from sonde.render.text.experiments import ProgressLine


def add_experiment(parser: argparse.ArgumentParser, budget_minutes: float) -> None:
    """The options of every experiment."""
    parser.add_argument(
        "--budget", type=float, default=budget_minutes, metavar="MINUTES",
        help=f"time to spend (default {budget_minutes:g})",
    )  # fmt: skip
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="write runs to this file, and resume from it"
    )
    parser.add_argument(
        "--check", default="", metavar="COMMAND",
        help="shell command whose output must not change; the program's output is in $SONDE_OUTPUT "
        "(default: losses and scores that the program prints)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=float, default=3600.0, metavar="S", help="stop a run that takes longer than this"
    )
    parser.add_argument(
        "--one-by-one", action="store_true",
        help="run one process at a time; by default the two runs of a pair alternate every 50 ms",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random order")


@dataclass(frozen=True)
class Laboratory:
    """Where one experiment runs."""

    journal: Journal
    line: ProgressLine
    out_of_time: Callable[[], bool]
    seconds_left: Callable[[], float]


@contextmanager
def laboratory(
    options: argparse.Namespace, command: str, partial: Callable[[], None]
) -> Iterator[Laboratory]:
    """Run an experiment in here. When it is interrupted, `partial` shows what is known and the journal stays."""
    from sonde.experiment.proving.journal import Journal
    from sonde.render.text.experiments import ProgressLine

    if not options.budget > 0:
        raise UsageError(
            f"--budget {options.budget:g} leaves no time", "give minutes, for example --budget 15"
        )
    end = time.monotonic() + options.budget * 60
    path: Path = options.journal or default_journal(command)
    journal = Journal(path)
    line = ProgressLine(sys.stderr, lambda: end - time.monotonic())
    before = signal.signal(signal.SIGTERM, _terminated)  # schedulers and CI end what runs too long by it
    try:
        yield Laboratory(
            journal, line, lambda: time.monotonic() > end, lambda: max(0.0, end - time.monotonic())
        )
    except (KeyboardInterrupt, SondeError):
        line.close()
        partial()
        if journal.entries:
            kept = f"sonde: {len(journal.entries)} launches are kept → go on with --journal {path}"
            print(kept, file=sys.stderr)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
        line.close()


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated


def default_journal(command: str) -> Path:
    """A new file among the user's state: old launches are never mixed with new ones unasked."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return Path(state) / "sonde" / "experiments" / f"{stamp}-{os.getpid()}-{command}.jsonl"


def command_of(words: list[str], example: str) -> tuple[str, ...]:
    """What stands after `--`; a Python script alone is run with this Python."""
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise UsageError("no command given", f"for example: {example}")
    path = Path(words[0])
    if path.suffix == ".py" and path.is_file() and not os.access(path, os.X_OK):
        return (sys.executable, *words)
    return tuple(words)
