"""Where the native libraries are, and the one that this process may load.

All but `libsonde_tools.so`, `libsonde_dump.so` and `libsonde_attach.so` are never loaded here:
they go into the profiled program.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from sonde.errors import EnvironmentLacks

_FOLDER = Path(__file__).parent / "_native"


def agent_path() -> Path:
    """The library to preload into a program."""
    return _existing("libsonde_agent.so")


def lines_path() -> Path:
    """The library that keeps verbose lines of oneDNN and MKL out of a program's output."""
    return _existing("libsonde_lines.so")


def observer_path() -> Path:
    """The library that opens the observer of operator calls in native torch programs."""
    return _existing("libsonde_observer.so")


@functools.cache
def tools() -> ctypes.CDLL:
    """The helper library; callers declare the functions they use."""
    return ctypes.CDLL(str(_existing("libsonde_tools.so")))


@functools.cache
def dump() -> ctypes.CDLL:
    """The reader of another process's stacks; callers declare the functions they use."""
    return ctypes.CDLL(str(_existing("libsonde_dump.so")), use_errno=True)


@functools.cache
def attach() -> ctypes.CDLL:
    """What puts the agent into a process; callers declare the functions they use."""
    return ctypes.CDLL(str(_existing("libsonde_attach.so")), use_errno=True)


def _existing(name: str) -> Path:
    # An editable install keeps the libraries in site-packages, beside an empty package.
    for folder in (_FOLDER, *(Path(p) / "_native" for p in __import__("sonde").__path__)):
        if (folder / name).exists():
            return folder / name
    raise EnvironmentLacks(
        f"{name} is missing from {_FOLDER}",
        "install Sonde again: pip install --force-reinstall sonde-profiler   (in a clone: make native)",
    )
