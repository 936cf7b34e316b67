"""Record a program from its start to finished tables.

Enters: a command and options. Leaves: the recording, and how the program ended.
The folder is a valid unfinished recording from the first moment on, so that a
crash of anything leaves something `sonde recover` can finish.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from sonde.errors import SondeError
from sonde.machine.recorded import recorded_machine
from sonde.record.environment import ObserveOptions, python_environment
from sonde.record.finalise import finalise
from sonde.record.jit import jit_environment, remove_jit_files
from sonde.record.launch import LaunchOptions, LaunchResult, launch
from sonde.record.observer.environment import observer_environment
from sonde.record.options import RunOptions, read_env_file
from sonde.record.surroundings import epoch_offset, kept_environment, machine_facts
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
    (folder / "raw").mkdir(parents=True)
    theirs = read_env_file(options.env_file) if options.env_file else {}
    environment = theirs | jit_environment(folder, {**os.environ, **theirs})
    share = max(options.budget_percent / 100, 1e-9)
    observe = ObserveOptions(window=options.window, budget=share, primitives=options.primitives)
    environment |= python_environment(folder, observe, {**os.environ, **environment})
    if options.shapes:
        environment |= observer_environment(command, folder, observe, {**os.environ, **environment})
    started = _started(command, options, environment, theirs)
    started.write(folder)
    asked = LaunchOptions(
        rate_hz=round(options.rate_hz), waits=options.waits, blocks=options.blocks, environment=environment
    )
    try:
        result = launch(command, folder, asked)
    except SondeError:
        shutil.rmtree(folder)  # nothing ran: leave nothing
        raise
    remove_jit_files(folder)  # the agent has read them
    recording = finalise(folder, started, result, keep_raw=options.keep_raw)
    return Outcome(recording, result.exit_code, result.signal)


def _started(
    command: list[str], options: RunOptions, environment: dict[str, str], theirs: dict[str, str]
) -> Meta:
    """`environment` is all that is added for the program, `theirs` the part that the user gave."""
    offset, uncertainty = epoch_offset()
    asked = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(options).items()}
    return Meta(
        sonde_version=__version__,
        program=_program_name(command),
        command=command,
        directory=os.getcwd(),
        started=datetime.now(timezone.utc).astimezone().isoformat(timespec="seconds"),
        complete=False,
        options=asked,
        environment=kept_environment({**os.environ, **environment}),
        machine={**machine_facts(), **recorded_machine({**os.environ, **theirs})},
        clock=Clock(epoch_offset_start_ns=offset, epoch_offset_end_ns=offset, uncertainty_ns=uncertainty),
    )


def _program_name(command: list[str]) -> str:
    """`train.py` for a Python command, else the program's own name."""
    first = Path(command[0]).name
    if first.startswith("python") and len(command) > 1:
        if command[1] == "-m" and len(command) > 2:
            return command[2]
        return Path(command[1]).name
    return first


__all__ = ["LaunchResult", "Outcome", "record"]
