"""Ask another Python, in a process of its own: it runs a program that prints what it was asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.errors import EnvironmentLacks


@dataclass(frozen=True)
class Request:
    """A line of what `program` prints begins with `mark`; `about` says for people what it is asked for."""

    program: str
    mark: str
    about: str
    timeout_s: float


def printed_by(
    request: Request,
    python: str | None,
    environment: Mapping[str, str] = os.environ,
    arguments: Sequence[str] = (),
) -> str:
    """All that the program prints when `python` (this one by default) runs it."""
    command = [python or sys.executable, "-c", request.program, *arguments]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=request.timeout_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentLacks(
            f"{command[0]} cannot be asked: {error}", "name another one with --python"
        ) from None
    if not any(line.startswith(request.mark) for line in done.stdout.splitlines()):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise EnvironmentLacks(
            f"{command[0]} failed when asked for its {request.about}: {last}",
            "it needs torch (try: python -c 'import torch'); name another one with --python",
        )
    return done.stdout


def torch_answer(request: Request, output: str, python: str | None) -> dict[str, Any]:
    """The JSON behind the last mark; {"error": …} there says that the Python has no torch."""
    line = next(line for line in reversed(output.splitlines()) if line.startswith(request.mark))
    answer: dict[str, Any] = json.loads(line.removeprefix(request.mark))
    if "error" in answer:
        raise EnvironmentLacks(
            f"{python or sys.executable} has no torch: {answer['error']}",
            "install torch there, or name another with --python",
        )
    return answer
