"""Observers in a program that already runs: put in place, asked for a window, and taken away without residue.

Called by the agent's own thread with the interpreter lock (native/agent/attach/python_call.cpp); each call takes some
milliseconds, between two of its bytecodes other threads run as ever. What touches torch's profiler is done by the
program's own thread, at its next safe point. Every function returns text for the one who asked.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from sonde.record.inside import observation, patch

# Framework's module → ours whose `observe(module, options)` puts observers in place.
OBSERVED = {"torch": "sonde.record.frameworks.torch.inside.install"}


def enter(options: dict[str, Any]) -> str:
    """Observe from now on. "observing NAMES": the frameworks that the program has."""
    if observation.current is not None:
        return "observed already"
    names = [name for name in OBSERVED if _is_there(name)]
    if not names:
        return "no framework"
    observation.observe({**options, "late": True})
    for name in names:
        __import__(OBSERVED[name])
        sys.modules[OBSERVED[name]].observe(sys.modules[name])
    return "observing " + " ".join(names)


def _is_there(name: str) -> bool:
    """Imported, and not just being imported."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return module is not None and not getattr(spec, "_initializing", False) and hasattr(module, "nn")


def ask_for_window(steps: int) -> str:
    """A profiling window of so many steps, from the next safe point on. "window N": its number."""
    seen = observation.current
    if seen is None:
        return "not observed"
    refused = seen.windows.ask(steps)
    if refused:
        return f"refused {refused}"
    for thread in list(seen.threads):
        thread.quiet = 0
    return f"window {seen.windows.count}"


def windows_so_far() -> str:
    """ "windows N": so many are complete."""
    seen = observation.current
    return "not observed" if seen is None else f"windows {seen.windows.count}"


def leave(patience_s: float) -> str:
    """Take everything away. A window that is open is closed by the thread that opened it, at its next safe point."""
    seen = observation.current
    if seen is None:
        return "left"
    seen.windows.ask_to_close()
    end = time.monotonic() + patience_s
    while seen.windows.is_busy and time.monotonic() < end:
        time.sleep(0.005)
    if seen.windows.is_busy:
        # The thread does not come by. What is left does nothing but close the window when it does.
        seen.windows.on_closed = lambda: _take_away(seen)
        return "window open"
    return _take_away(seen)


def _take_away(seen: observation.Observation) -> str:
    left = patch.put_back()
    seen.session.end()
    observation.current = None
    return "left" if not left else "left behind " + " ".join(left)
