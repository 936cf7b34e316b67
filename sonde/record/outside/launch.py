"""Record a target with the agent inside, and wait for its end.

Enters: a target, the recording's folder, options. Leaves: how the program ended and what it and its orphans used.
Without a folder the program runs as it is.
Invariant: Sonde is invisible. The program's output, exit code and death by signal are its own;
Ctrl-C and friends reach the program, and Sonde stays to finish the recording.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from sonde import rawfolder
from sonde.errors import EnvironmentLacks, UsageError
from sonde.native import agent_path
from sonde.record.outside.adopted import Left, adopt_orphans, foster_parent, see_off
from sonde.record.outside.options import MAX_RATE_HZ, Ring, RunOptions
from sonde.record.outside.target import FORWARDED, FROM_TERMINAL, Target

ENGINES = ("auto", "timer+kernel", "perf+kernel", "perf+timer", "timer")
MIN_RATE_HZ = 1


@dataclass(frozen=True)
class LaunchOptions:
    """How to sample, and what else to put into the program's environment."""

    rate_hz: int = 100
    engine: str = "auto"
    waits: bool = True  # off-CPU snapshots
    blocks: bool = False  # random on/off blocks that measure the overhead
    ring: Ring | None = None  # keep only the last minutes
    environment: Mapping[str, str] = field(default_factory=dict)  # set in the program, over its own
    # Adopt processes that the program leaves behind, and say so when that takes time. Only for a process that has
    # no children of its own: theirs would be waited for as well.
    adopt: Callable[[str], None] | None = None


def launch_options(options: RunOptions, environment: Mapping[str, str]) -> LaunchOptions:
    """How to sample as `sonde run` was asked to."""
    return LaunchOptions(
        rate_hz=round(options.rate_hz),
        waits=options.waits,
        blocks=options.blocks,
        ring=options.ring,
        environment=environment,
    )


@dataclass(frozen=True)
class LaunchResult:
    """How it ended. `exit_code` is the program's own; -N when signal N killed it."""

    pid: int
    exit_code: int
    signal: int  # 0 when not killed by one
    user_ns: int
    system_ns: int
    max_rss_bytes: int
    start_ns: int
    end_ns: int
    adopted_ns: int = 0  # CPU time of processes that the program left behind and that have ended
    left: tuple[Left, ...] = ()  # those that still run
    outlived: tuple[Left, ...] = ()  # those that still ran when Sonde stopped to wait: nobody waited for them


def agent_environment(
    folder: Path, options: LaunchOptions, base: Mapping[str, str], launcher_pid: int
) -> dict[str, str]:
    """`base` with the agent preloaded in front of what was preloaded already."""
    if not MIN_RATE_HZ <= options.rate_hz <= MAX_RATE_HZ:
        raise UsageError(
            f"a rate of {options.rate_hz} Hz is out of range", f"use {MIN_RATE_HZ} to {MAX_RATE_HZ:g}"
        )
    if options.engine not in ENGINES:
        raise UsageError(f"there is no engine {options.engine!r}", f"use one of: {', '.join(ENGINES)}")
    of_outer = (
        "SONDE_AGENT_FIRST",
        "SONDE_AGENT_RING_S",
        "SONDE_AGENT_RING_BYTES",
    )  # of a `sonde run` around this one
    environment = {name: value for name, value in base.items() if name not in of_outer} | dict(
        options.environment
    )
    preload = [str(agent_path())]
    if any(c in preload[0] for c in ": "):
        raise EnvironmentLacks(
            f"the agent is at {preload[0]!r}, but the loader accepts no spaces or colons in LD_PRELOAD",
            "install Sonde in a folder without them",
        )
    if environment.get("LD_PRELOAD"):
        preload.append(environment["LD_PRELOAD"])
    environment["LD_PRELOAD"] = ":".join(preload)
    environment["SONDE_AGENT_FOLDER"] = str(folder.resolve())
    environment["SONDE_AGENT_RATE"] = str(options.rate_hz)
    environment["SONDE_AGENT_ENGINE"] = options.engine
    environment["SONDE_AGENT_WAITS"] = str(int(options.waits))
    environment["SONDE_AGENT_BLOCKS"] = str(int(options.blocks))
    if options.ring is not None:
        environment["SONDE_AGENT_RING_S"] = str(round(options.ring.seconds))
        environment["SONDE_AGENT_RING_BYTES"] = str(options.ring.size_bytes)
    environment["SONDE_AGENT_LAUNCHER"] = str(launcher_pid)
    return environment


def launch(target: Target, folder: Path | None, options: LaunchOptions) -> LaunchResult:
    """Record `target` to its end, with the agent writing into `folder`/raw."""
    if folder is None:
        environment = {**os.environ, **options.environment}
    else:
        (folder / rawfolder.FOLDER).mkdir(parents=True, exist_ok=True)
        environment = agent_environment(folder, options, os.environ, os.getpid())
    adopting = False
    if options.adopt:
        environment["SONDE_AGENT_FOSTER"] = str(foster_parent())
        adopting = adopt_orphans()
    start_ns = time.monotonic_ns()
    with _signals_for(target):
        pid = target.start(environment)
        ended = target.wait(adopting)
        end_ns = time.monotonic_ns()
    late_ns, left = see_off(options.adopt) if adopting and options.adopt else (0, ())
    return LaunchResult(
        pid=pid,
        exit_code=ended.exit_code,
        signal=max(-ended.exit_code, 0),
        user_ns=ended.user_ns,
        system_ns=ended.system_ns,
        max_rss_bytes=ended.max_rss_bytes,
        start_ns=start_ns,
        end_ns=end_ns,
        adopted_ns=ended.adopted_ns + late_ns,
        left=left,
        outlived=left,
    )


@contextmanager
def _signals_for(target: Target) -> Iterator[None]:
    """Survive signals while the target runs: it says what each of them means."""

    def handle(number: int, frame: FrameType | None) -> None:
        target.interrupt(number)

    before = {}
    try:
        # A handler, not SIG_IGN: ignoring would be inherited by the program. And what we were told to ignore (nohup, a
        # shell's background jobs) stays so: a handler would be reset to the default in the program, which would
        # then die of the hang-up that it was to survive.
        for number in sorted(FROM_TERMINAL | FORWARDED):
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, handle)
    except ValueError:
        pass  # not in the main thread: signals go where they went before
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier if earlier is not None else signal.SIG_DFL)


@dataclass(frozen=True)
class Unfollowed:
    """A process of the job that left no log: a helper program, or one the agent could not enter."""

    pid: int
    reason: str
    program: str


def read_unfollowed(folder: Path) -> list[Unfollowed]:
    """What the agent noted about processes without a log; they are rows of `losses`."""
    path = folder / rawfolder.FOLDER / rawfolder.UNFOLLOWED
    if not path.exists():
        return []
    rows = [line.split("\t") for line in path.read_text(errors="replace").splitlines()]
    return [Unfollowed(int(r[0]), r[1], r[2]) for r in rows if len(r) == 3 and r[0].isdigit()]
