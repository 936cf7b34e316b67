"""What a recording is asked to do, with every default in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sonde.errors import UsageError
from sonde.record.inside.options import parse_window

RATE_HZ = 100.0  # samples per CPU second and thread; about 1 % of CPU time
MAX_RATE_HZ = 4_000.0  # as in native/agent/core/options.h
BUDGET_PERCENT = 2.0  # share of the run time that deep windows may cost


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

    def __post_init__(self) -> None:
        if not 0 < self.rate_hz <= MAX_RATE_HZ:
            raise UsageError(f"--rate {self.rate_hz:g} is out of range", f"choose 1 to {MAX_RATE_HZ:g} Hz")
        if not 0 <= self.budget_percent <= 100:
            raise UsageError(f"--budget {self.budget_percent:g} is out of range", "choose 0 to 100 percent")
        parse_window(self.window)


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
