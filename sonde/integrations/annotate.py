"""What a program may say itself: `sonde.profile()`, `sonde.step()`, `sonde.region("name")`,
`sonde.role("trainer")`.

Under `sonde run` these add marks to the recording that is being made, and `profile()`
opens a profiling window around its block. Without `sonde run`, `profile(path)` records by
itself what can be had from inside: marks, steps and the operators of the block; there
are then no sampled stacks, and the recording says so in `losses`. `step()` and `region()`
outside of any recording do nothing and cost next to nothing.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from sonde.errors import EnvironmentLacks, UsageError

Function = TypeVar("Function", bound=Callable[..., Any])


def step() -> None:
    """The program says: a step ends here."""
    seen = _observation()
    if seen is None:
        return
    now = time.monotonic_ns()
    thread = seen.thread()
    start = thread.said_ns if thread.said_ns >= 0 else max(thread.steps.start_ns, 0) or now
    seen.session.mark("step", "user", start, now)
    thread.said_ns = now
    seen.windows.said_step(thread, now)


def role(name: str) -> None:
    """The program says what this process is for in its job: `sonde.role("rollout")`."""
    if not isinstance(name, str) or not name:
        raise UsageError(f"a role needs a name, not {name!r}", 'sonde.role("trainer")')
    seen = _observation()
    if seen is not None:
        seen.session.log.write(json.dumps({"kind": "role", "name": name[:100]}))


class region:
    """A named stretch of the program: `with sonde.region("tokenise"):` or `@sonde.region("tokenise")`."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise UsageError(f"a region needs a name, not {name!r}", 'with sonde.region("tokenise"): …')
        self._name = name
        self._starts: list[int] = []

    def __enter__(self) -> region:
        self._starts.append(time.monotonic_ns())
        return self

    def __exit__(self, *_: object) -> None:
        start = self._starts.pop()
        seen = _observation()
        if seen is not None:
            seen.session.mark("region", self._name, start, time.monotonic_ns())

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with region(self._name):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


class profile:
    """Record a block deeply: `with sonde.profile():`, or `@sonde.profile()` on a function.

    `path` is the recording to make when the program does not run under `sonde run`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, name: str = "profile") -> None:
        self._path = Path(path) if path is not None else None
        self._name = name
        self._region: region | None = None
        self._own = False
        self._opened = False

    def __enter__(self) -> profile:
        seen = _observation()
        if seen is None or (self._path is not None and seen.session.alone):
            seen = self._begin(seen)
        self._region = region(self._name).__enter__()
        self._opened = seen.windows.open_now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seen = _observation()
        if seen is None or self._region is None:
            return
        if self._opened:
            seen.windows.close_now()
        self._region.__exit__(kind, error, trace)
        if self._own:
            self._finish()

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with profile(self._path, function.__qualname__):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]

    def _begin(self, seen: Any) -> Any:
        """Start observing this process now, without the agent, or begin another recording."""
        torch = sys.modules.get("torch")
        if torch is None:
            raise EnvironmentLacks(
                "sonde.profile() found neither `sonde run` around the program nor torch in it",
                "import torch before, or run the program with: sonde run script.py",
            )
        folder = self._path or Path(f"{Path(sys.argv[0]).stem or 'program'}.sonde")
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} already exists", "give another path: sonde.profile('other.sonde')")
        from sonde.record.frameworks.torch.inside import install

        self._start_ns = time.monotonic_ns()
        if seen is None:
            options = {"folder": str(folder.resolve()), "window": "none", "lines": True, "alone": True}
            seen = install.observe(torch, options)
        else:
            seen.session.move(str(folder.resolve()))
        self._own = True
        self._folder = folder
        return seen

    def _finish(self) -> None:
        from sonde.record.outside.alone import write_recording

        write_recording(self._folder, list(sys.orig_argv), self._start_ns)


def _observation() -> Any:
    """The observation under way in this process, if any; under `sonde run` there always is one."""
    observation = sys.modules.get("sonde.record.inside.observation")
    current = getattr(observation, "current", None)
    if current is None and os.environ.get("SONDE_OBSERVE"):
        from sonde.record.inside import observation as fresh

        current = fresh.observe()  # a program without torch, or before it imports torch
    return current
