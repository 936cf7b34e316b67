"""Keeps what a window allocates out of the program's heap (native/agent/heap).

Torch's profiler keeps some small blocks for ever. One of them on top of the program's heap, and glibc no longer gives
memory back there: page faults vanish, steps after the window are faster than before, and what is measured is not the
program as it is. With glibc's allocator these blocks go to an arena of Sonde's own; other allocators have no such
top and are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Heap:
    """The calling thread's way to Sonde's own arena; does nothing where the agent is not, or knows no way."""

    def __init__(self) -> None:
        self._agent: Any = None
        self._asked = False

    @contextmanager
    def apart(self) -> Iterator[None]:
        """All blocks of this thread come from the own arena."""
        agent = self._prepared()
        if agent is None:
            yield
            return
        agent.sonde_heap_apart(1)
        try:
            yield
        finally:
            agent.sonde_heap_apart(0)

    def divert(self, on: bool) -> None:
        """Steps of a window run: small blocks of torch's C++ code come from there, those of tensors do not."""
        if self._agent is not None:
            self._agent.sonde_heap_divert(int(on))

    def _prepared(self) -> Any:
        if not self._asked:
            self._asked = True
            import ctypes  # takes milliseconds, and many programs have no window

            try:
                # The agent is in the process already. PyDLL: a call of some nanoseconds keeps the interpreter lock.
                agent = ctypes.PyDLL(None)
                self._agent = agent if agent.sonde_heap_prepare() else None
            except (AttributeError, OSError):
                pass  # no agent: the program is observed only
        return self._agent
