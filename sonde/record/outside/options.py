"""What a recording is asked to do, with every default in one place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import UsageError
from sonde.record.inside.options import parse_window

RATE_HZ = 100.0  # samples per CPU second and thread; about 1 % of CPU time
MAX_RATE_HZ = 4_000.0  # as in native/agent/core/options.h
BUDGET_PERCENT = 2.0  # share of the run time that profiling windows may cost


RING_MINUTES, RING_MB = 10.0, 64
LEAST_RING_MB = 8  # names, stacks and mappings are said anew in each of its nine parts


@dataclass(frozen=True)
class Ring:
    """Only the last minutes of each process are kept, and never more than so many bytes of it."""

    seconds: float = RING_MINUTES * 60
    size_bytes: int = RING_MB << 20

    def __post_init__(self) -> None:
        if not 60 <= self.seconds <= 86_400:
            raise UsageError(
                f"a ring of {self.seconds / 60:g} minutes is out of range", "choose 1 to 1440 minutes"
            )
        if self.size_bytes < LEAST_RING_MB << 20:
            raise UsageError(
                f"a ring of {self.size_bytes / (1 << 20):g} MB is too small",
                f"choose {LEAST_RING_MB} or more",
            )


@dataclass(frozen=True)
class RunOptions:
    """Options of `sonde run`, checked."""

    rate_hz: float = RATE_HZ
    window: str = "auto"  # auto, all, none or steps=A:B
    budget_percent: float = BUDGET_PERCENT
    primitives: bool = False
    shapes: bool = False  # observe operator calls of native torch programs
    env_file: Path | None = None
    keep_raw: bool = False
    source: bool = True  # keep the text of the project's files that have samples
    waits: bool = True  # record where threads wait
    blocks: bool = False  # measure the overhead by random on/off blocks
    ring: Ring | None = None  # keep only the last minutes
    job: str | None = None  # name of the distributed job that this recording is a part of

    def __post_init__(self) -> None:
        if not 0 < self.rate_hz <= MAX_RATE_HZ:
            raise UsageError(f"--rate {self.rate_hz:g} is out of range", f"choose 1 to {MAX_RATE_HZ:g} Hz")
        if not 0 <= self.budget_percent <= 100:
            raise UsageError(f"--budget {self.budget_percent:g} is out of range", "choose 0 to 100 percent")
        parse_window(self.window)
        if self.job is not None and not re.fullmatch(r"[\w.-]{1,80}", self.job):
            raise UsageError(
                f"--job {self.job!r} is not a valid name", "use letters, digits, dots, dashes and underscores"
            )


def read_env_file(path: Path) -> dict[str, str]:
    """KEY=VALUE lines; `export` in front, quotes around values and # comments are understood."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    variables: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip().removeprefix("export ").strip()
        if not text or text.startswith("#"):
            continue
        key, found, value = text.partition("=")
        if not found or not key.isidentifier():
            raise UsageError(f"{path}:{number}: {line!r} is not KEY=VALUE")
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        variables[key] = value
    return variables
