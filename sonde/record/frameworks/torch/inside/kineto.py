"""Torch's own profiler (Kineto), driven at its lowest level for one window.

In: start and stop. Out: a trace file, and pairs of moments that tie Kineto's clock to
CLOCK_MONOTONIC: an empty record named `sonde::clock` lies between two readings of
our clock, so each pair bounds the offset from both sides (about 1 µs apart).

Settings, and why: shapes and memory are what only the profiler knows. Its Python stacks
(`with_stack`) are off: they name the line of the `def`, not of the call, and double the
cost of stopping; `lines.py` gets the line that runs and the module instead.
`with_modules` knows TorchScript only, and FLOPs follow from shapes afterwards.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from sonde.record.inside import agent
from sonde.record.inside.session import now_ns

CLOCK_NAME = "sonde::clock"
CLOCK_PAIRS = 5
KINETO_QUIET = "99"  # above every level, so that start and stop print nothing
C10_ERROR_LEVEL = 2


class KinetoWindow:
    """One profiler session. `clock` is a list of (before_ns, after_ns) around the clock records."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._log_level: Any = None
        self.clock: list[tuple[int, int]] = []
        self._result: Any = None
        self.start_ns = self.end_ns = -1

    def start(self) -> None:
        """Prepare and enable; raises RuntimeError when another profiler is active."""
        torch = self._torch
        from torch._C._autograd import _enable_profiler, _prepare_profiler, _profiler_enabled

        if _profiler_enabled():
            raise RuntimeError("another profiler is active")
        if agent.library() is None and _uses_gloo(torch):
            raise RuntimeError("without the agent, torch's profiler can crash a program that uses gloo")
        profiler = torch.autograd.profiler
        # Asking whether there is a GPU would initialise its driver and break later forks;
        # whether the program uses one is safe to ask.
        device = "cuda" if torch.cuda.is_initialized() else None
        wanted = profiler.profile(
            use_kineto=True, record_shapes=True, profile_memory=True, with_stack=False, use_device=device
        )
        config = wanted.config()
        self._quiet(True)
        added = "KINETO_LOG_LEVEL" not in os.environ
        if added:
            os.environ["KINETO_LOG_LEVEL"] = KINETO_QUIET
        try:
            _prepare_profiler(config, wanted.kineto_activities)
            self.start_ns = now_ns()
            _tell_agent(True)
            _enable_profiler(config, wanted.kineto_activities)
        except Exception:
            _tell_agent(False)
            self._quiet(False)
            raise
        finally:
            if added:
                del os.environ["KINETO_LOG_LEVEL"]
        # Inductor and others emit their ranges only while this flag is up.
        profiler._run_on_profiler_start()
        self.tick(CLOCK_PAIRS)

    def stop(self) -> None:
        """Disable and keep the result in memory."""
        torch = self._torch
        from torch._C._autograd import _disable_profiler

        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        self.tick(CLOCK_PAIRS)
        torch.autograd.profiler._run_on_profiler_stop()
        self._result = _disable_profiler()
        self.end_ns = now_ns()
        _tell_agent(False)
        self._quiet(False)

    def save(self, path: str) -> None:
        """Write the Chrome trace by Kineto's own writer and free the events."""
        self._result.save(path)
        self._result = None

    def tick(self, pairs: int = 1) -> None:
        """A moment that both clocks know."""
        from torch._C._profiler import _RecordFunctionFast

        for _ in range(pairs):
            before = now_ns()
            with _RecordFunctionFast(CLOCK_NAME):
                pass
            self.clock.append((before, now_ns()))

    def _quiet(self, on: bool) -> None:
        """Within a window torch's allocator warns of each block that is older than the window.

        That warning is about us, not about the program, so c10 logs errors only until the end.
        """
        try:
            if self._log_level is None:
                folder = os.path.join(os.path.dirname(self._torch.__file__), "lib")
                library = ctypes.CDLL(os.path.join(folder, "libc10.so"))
                flag = ctypes.c_int.in_dll(library, "FLAGS_caffe2_log_level")
                self._log_level = (flag, flag.value)
            flag, before = self._log_level
            flag.value = max(before, C10_ERROR_LEVEL) if on else before
        except (OSError, ValueError):
            pass  # another build of torch: the warning shows, nothing else happens


def _tell_agent(is_open: bool) -> None:
    """Gloo's collectives stay out of our windows: native/agent/steps/unprofiled.h says why."""
    found = agent.library()
    if found is not None:
        found.sonde_window_is_open(int(is_open))


def _uses_gloo(torch: Any) -> bool:
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return False
    from torch.distributed import distributed_c10d

    return any("gloo" in str(made[0]) for made in distributed_c10d._world.pg_map.values())
