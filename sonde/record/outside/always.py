"""Run a program come what may, and record it if that can be.

Enters: a command, the folder that was asked for, options. Leaves: how the program ended, and where the recording is.
Invariant: after the options have been read, nothing of Sonde's own keeps the program from running, or changes its
exit code. What Sonde could not do it says in one line each. All that loads libraries, writes files or may
crash is done apart (`sonde.record.outside.apart`): this process only starts the program and waits.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sonde.errors import SondeError, UsageError
from sonde.record.outside.apart import Failed, apart, said
from sonde.record.outside.launch import LaunchOptions, LaunchResult, launch, launch_options
from sonde.record.outside.options import RunOptions, read_env_file
from sonde.record.outside.place import one_line, places, readable
from sonde.record.outside.target import CannotStart, CommandTarget

Say = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """The unfinished recording, and what to put into the program's environment."""

    folder: Path
    environment: dict[str, str]


def run_always(
    command: list[str],
    wanted: Path,
    options: RunOptions,
    say: Say,
    before_start: Callable[[Path], None] = lambda folder: None,
) -> tuple[LaunchResult, Path | None]:
    """How the program ended, and the folder with its logs; None: it ran without being recorded.

    `before_start` is told the folder once it is there.
    """
    theirs = read_env_file(options.env_file) if options.env_file else {}
    plain = LaunchOptions(environment=theirs)
    prepared = _prepared(command, wanted, options, say)
    if prepared is None:
        return launch(CommandTarget(command), None, plain), None
    before_start(prepared.folder)
    asked = replace(launch_options(options, prepared.environment), adopt=say)
    try:
        return launch(CommandTarget(command), prepared.folder, asked), prepared.folder
    except CannotStart as error:
        shutil.rmtree(prepared.folder, ignore_errors=True)
        result = launch(CommandTarget(command), None, plain)  # raises when it is not for what Sonde adds
        say(f"the program was not recorded: {error.message}")
        return result, None
    except UsageError:
        shutil.rmtree(prepared.folder, ignore_errors=True)  # nothing ran: leave nothing
        raise


def _prepared(command: list[str], wanted: Path, options: RunOptions, say: Say) -> Prepared | None:
    try:
        answer = apart(lambda: _try_places(command, wanted, options))
    except (Failed, OSError) as error:
        reason = str(error) if isinstance(error, Failed) else said(error)
        answer = {"folder": None, "problem": reason}
    if answer["folder"] is None:
        say(f"the program runs without being recorded: {answer['problem']}")
        return None
    folder = Path(os.fsdecode(bytes.fromhex(answer["folder"])))
    if folder != wanted:
        say(f"{one_line(wanted)} cannot be used ({answer['problem']}); recording to {one_line(folder)}")
    return Prepared(folder, answer["environment"])


def _try_places(command: list[str], wanted: Path, options: RunOptions) -> dict[str, Any]:
    """In a process apart: where it worked, and why it did not work where it was wanted."""
    from sonde.record.outside.job import prepare

    problem = ""
    for folder in places(wanted):
        try:
            environment = prepare(command, folder, options)
        except UsageError:
            raise
        except SondeError as error:  # another folder does not help
            return {"folder": None, "problem": error.message}
        except (OSError, MemoryError) as error:
            problem = problem or readable(said(error))
        else:
            return {"folder": os.fsencode(folder).hex(), "environment": environment, "problem": problem}
    return {"folder": None, "problem": problem}
