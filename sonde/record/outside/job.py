"""Record a program from its start to finished tables.

Enters: a command and options. Leaves: the recording, and how the program ended.
The folder is a valid unfinished recording from the first moment on, so that a
crash of anything leaves something `sonde recover` can finish.

`record` does all in this process, for programs that call Sonde. `sonde run` does the same steps with
`sonde.record.outside.always`, which lets nothing of Sonde's own stop the program.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from sonde import rawfolder
from sonde.errors import SondeError
from sonde.machine.recorded import recorded_machine
from sonde.record.frameworks.base import Launch
from sonde.record.frameworks.known import FRAMEWORKS
from sonde.record.frameworks.torch.inside.settings import before_start
from sonde.record.inside.options import ObserveOptions
from sonde.record.inside.variables import kept_environment
from sonde.record.outside.environment import python_environment
from sonde.record.outside.finalise import finalise
from sonde.record.outside.jit import jit_environment, remove_jit_files
from sonde.record.outside.launch import LaunchResult, agent_environment, launch, launch_options
from sonde.record.outside.options import RunOptions, read_env_file
from sonde.record.outside.place import check, readable
from sonde.record.outside.sources import unnamed_script
from sonde.record.outside.surroundings import epoch_offset, machine_facts
from sonde.record.outside.target import CommandTarget
from sonde.redact import hide_command
from sonde.store.files import PRIVATE_FOLDER
from sonde.store.meta import Clock, Meta
from sonde.store.recording import Recording
from sonde.version import __version__


@dataclass(frozen=True)
class Outcome:
    """The finished recording and how the program ended."""

    recording: Recording
    exit_code: int
    signal: int  # 0 when no signal killed it


def record(command: list[str], folder: Path, options: RunOptions) -> Outcome:
    """Run `command`, record it into `folder`, and finish the recording."""
    environment = prepare(command, folder, options)
    try:
        result = launch(CommandTarget(command), folder, launch_options(options, environment))
    except SondeError:
        shutil.rmtree(folder)  # nothing ran: leave nothing
        raise
    recording = finish(folder, result, options)
    return Outcome(recording, result.exit_code, result.signal)


def prepare(command: list[str], folder: Path, options: RunOptions) -> dict[str, str]:
    """Make `folder` an unfinished recording; the variables to add for the program. Leaves no folder when it fails."""
    check(folder)
    theirs = read_env_file(options.env_file) if options.env_file else {}
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
    try:
        (folder / rawfolder.FOLDER).mkdir(mode=PRIVATE_FOLDER)
        environment = theirs | jit_environment(folder, {**os.environ, **theirs})
        share = max(options.budget_percent / 100, 1e-9)
        observe = ObserveOptions(
            window=options.window,
            budget=share,
            primitives=options.primitives,
            shapes=options.shapes,
            source=options.source,
            ring_bytes=options.ring.size_bytes if options.ring else 0,
        )
        environment |= python_environment(folder, observe, {**os.environ, **environment})
        for framework in FRAMEWORKS:
            environment |= framework.environment(
                Launch(command, folder, observe, {**os.environ, **environment})
            )
        agent_environment(folder, launch_options(options, environment), os.environ, os.getpid())  # can it be?
        told = json.dumps(before_start())
        (folder / rawfolder.FOLDER / rawfolder.SETTINGS_OF_JOB).write_text(told, encoding="utf-8")
        script = unnamed_script(command) if options.source else None
        if script is not None:
            kept = json.dumps(script)
            (folder / rawfolder.FOLDER / rawfolder.UNNAMED_SCRIPT).write_text(kept, encoding="utf-8")
        _started(command, options, environment, theirs).write(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return environment


def finish(
    folder: Path,
    result: LaunchResult,
    options: RunOptions,
    progress: Callable[[str], None] = lambda stage: None,
) -> Recording:
    """Turn the logs of a program that has ended into tables; `progress` is told each stage."""
    started = Meta.read(folder)
    if not result.left:  # the agent has read them
        remove_jit_files(folder)
    return finalise(folder, started, result, options.keep_raw, options.source, ours=True, progress=progress)


def _started(
    command: list[str], options: RunOptions, environment: dict[str, str], theirs: dict[str, str]
) -> Meta:
    """`environment` is all that is added for the program, `theirs` the part that the user gave."""
    offset, uncertainty = epoch_offset()
    asked = {k: readable(str(v)) if isinstance(v, Path) else v for k, v in asdict(options).items()}
    kept = kept_environment({**os.environ, **environment})
    return Meta(
        sonde_version=__version__,
        program=readable(_program_name(command)),
        command=[readable(word) for word in hide_command(command)],
        directory=_directory(),
        started=datetime.now(timezone.utc).astimezone().isoformat(timespec="seconds"),
        complete=False,
        options=asked,
        environment={readable(name): readable(value) for name, value in kept.items()},
        machine={**machine_facts(), **recorded_machine({**os.environ, **theirs})},
        clock=Clock(epoch_offset_start_ns=offset, epoch_offset_end_ns=offset, uncertainty_ns=uncertainty),
    )


def _directory() -> str:
    try:
        return readable(os.getcwd())
    except OSError:  # it was removed
        return ""


def _program_name(command: list[str]) -> str:
    """`train.py` for a Python command, else the program's own name."""
    first = Path(command[0]).name
    if first.startswith("python") and len(command) > 1:
        if command[1] == "-m" and len(command) > 2:
            return command[2]
        return Path(command[1]).name
    return first


__all__ = ["LaunchResult", "Outcome", "finish", "prepare", "record"]
