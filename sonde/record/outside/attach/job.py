"""Attach to processes, record them for a while, and finish the recording.

Enters: process ids, a folder, options. Leaves: how it went; the recording is finished by the code of `sonde run`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from sonde import rawfolder
from sonde.errors import EnvironmentLacks
from sonde.machine.attachable import obstacles
from sonde.record.inside.options import ObserveOptions
from sonde.record.inside.variables import kept_environment
from sonde.record.outside.attach.channel import find
from sonde.record.outside.attach.processes import command_of
from sonde.record.outside.attach.target import ProcessTarget
from sonde.record.outside.environment import python_environment
from sonde.record.outside.launch import LaunchResult, launch, launch_options
from sonde.record.outside.options import RunOptions
from sonde.record.outside.place import check, readable
from sonde.record.outside.surroundings import epoch_offset, machine_facts
from sonde.redact import hide_command
from sonde.store.files import PRIVATE_FOLDER
from sonde.store.meta import Clock, Meta
from sonde.version import __version__

Say = Callable[[str], None]


def refuse_early(pids: list[int], say: Say) -> list[int]:
    """Those that can be tried. Raises for the first, says so of others."""
    kept: list[int] = []
    for number, pid in enumerate(pids):
        found = [] if find(pid) else obstacles(pid)  # where an agent sleeps, no right is needed
        if not found:
            kept.append(pid)
        elif number == 0:
            raise EnvironmentLacks(found[0].reason, found[0].remedy)
        else:
            say(f"left out: {found[0].reason}")
    return kept


def attach(
    pids: list[int],
    folder: Path,
    seconds: float | None,
    options: RunOptions,
    say: Say,
    before_start: Callable[[Path], None] = lambda folder: None,
) -> tuple[LaunchResult, ProcessTarget]:
    """Record these processes into `folder` until the time is over, all have ended, or Ctrl-C.

    `before_start` is told the folder once it is there.
    """
    pids = refuse_early(pids, say)
    check(folder)
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
    try:
        (folder / rawfolder.FOLDER).mkdir(mode=PRIVATE_FOLDER)
        observe = ObserveOptions(
            window=options.window,
            budget=max(options.budget_percent / 100, 1e-9),
            ring_bytes=options.ring.size_bytes if options.ring else 0,
        )
        observed = python_environment(folder, observe, {})
        _started(pids, options).write(folder)
        before_start(folder)
        target = ProcessTarget(pids, folder, seconds, say)
        return launch(target, folder, launch_options(options, observed)), target
    except BaseException:
        if not any((folder / rawfolder.FOLDER).glob("*.slog")):
            shutil.rmtree(folder, ignore_errors=True)  # nothing was recorded: leave nothing
        raise


def _started(pids: list[int], options: RunOptions) -> Meta:
    command = hide_command(command_of(pids[0]))
    offset, uncertainty = epoch_offset()
    asked = {k: readable(str(v)) if isinstance(v, Path) else v for k, v in asdict(options).items()}
    return Meta(
        sonde_version=__version__,
        source="attach",
        program=readable(_program_name(command)),
        command=[readable(word) for word in command],
        directory=_directory(pids[0]),
        started=datetime.now(timezone.utc).astimezone().isoformat(timespec="seconds"),
        complete=False,
        options=asked,
        environment={readable(n): readable(v) for n, v in kept_environment(_environment(pids[0])).items()},
        machine=machine_facts(),
        clock=Clock(epoch_offset_start_ns=offset, epoch_offset_end_ns=offset, uncertainty_ns=uncertainty),
        details={"attached": json.loads(json.dumps(pids))},
    )


def _program_name(command: list[str]) -> str:
    words = [word for word in command if word]
    if not words:
        return "program"
    first = Path(words[0]).name
    if first.startswith("python"):
        if "-c" in words[1:2]:
            return "python -c"
        if "-m" in words[1:2] and len(words) > 2:
            return words[2]
        scripts = [word for word in words[1:] if not word.startswith("-")]
        return Path(scripts[0]).name if scripts else first
    return first


def _directory(pid: int) -> str:
    try:
        return readable(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return ""


def _environment(pid: int) -> dict[str, str]:
    """As the process was started with."""
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (os.fsdecode(word).partition("=") for word in data.split(b"\0") if b"=" in word)
    return {name: value for name, _, value in pairs}
