"""What a framework gives so that windows can record it deeply: its profiler, its lines, its libraries' own logs.

`sonde.record.frameworks.torch.inside.install` has the one for torch. A framework without it is sampled, and
its steps and phases are noted; it has no windows.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol


class Trace(Protocol):
    """One session of the framework's profiler. `clock` ties its clock to ours: (before_ns, after_ns) of each tick."""

    clock: list[tuple[int, int]]
    start_ns: int
    end_ns: int

    def start(self) -> None:
        """Raises when the profiler cannot run now."""

    def stop(self) -> None: ...

    def tick(self, pairs: int = 1) -> None:
        """A moment that both clocks know."""

    def save(self, path: str) -> None: ...


class Lines(Protocol):
    """Which line of the program runs, and in which module, while a window is open.

    `at_line`, where it is set, is told of each line of the program when it begins.
    """

    at_line: Callable[[FrameType, int], None] | None

    @property
    def count(self) -> int: ...

    def start(self, frame: FrameType | None) -> bool: ...

    def step(self) -> None:
        """A step of the program is over."""

    def stop(self) -> None: ...

    def rows(self) -> list[tuple[str, int, dict[str, Any]]]:
        """File, line and what was learnt of it."""

    def save(self, events: str, code: str) -> None:
        """Two files: what happened, and the code objects that it names by number."""


class Deep(Protocol):
    """One framework in this process."""

    def trace(self) -> Trace: ...

    def lines(self) -> Lines: ...

    def set_verbose(self, on: bool) -> None:
        """Have oneDNN and MKL print each call, or not."""

    def uses_device(self) -> bool:
        """Does the program use a GPU, where work goes on while the process stands?"""
