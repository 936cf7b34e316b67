"""Work of Sonde's own in a process of its own: whatever becomes of it, the program runs and keeps its exit code.

Enters: a function. Leaves: what it returned, or one line that says why it did not.
numpy and DuckDB are loaded there and never in the process that starts the program: it stays small, starts the program
sooner, and lives where memory is short. A crash, a full disk or the system's memory killer ends the
part alone.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from sonde.errors import SondeError


class Failed(Exception):
    """The work was not done; the text is for the user."""


def apart(work: Callable[[], Any]) -> Any:
    """What `work` returns (as JSON keeps it). `Failed` when it raised or died; a `SondeError` comes as itself."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            _quietly(stream.flush)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(writing, work)
    os.close(writing)
    with open(reading, "rb") as pipe:
        text = _patiently(pipe.read)
    status = _patiently(lambda: os.waitpid(child, 0))[1]
    if not text:
        code = os.waitstatus_to_exitcode(status)
        raise Failed(f"killed by {_signal_name(-code)}" if code < 0 else f"it ended with exit code {code}")
    kind, *answer = json.loads(text)
    if kind == "refused":
        name, message, hint = answer
        raise next(c for c in _kinds(SondeError) if c.__name__ == name)(message, hint)
    if kind == "failed":
        raise Failed(answer[0])
    return answer[0]


def _answer(writing: int, work: Callable[[], Any]) -> None:
    """In the child: never returns."""
    answer: list[Any]
    try:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread reserves memory, and none is used
        _silence_libraries()
        answer = ["done", work()]
    except SondeError as error:
        answer = ["refused", type(error).__name__, error.message, error.hint]
    except BaseException as error:
        answer = ["failed", said(error)]
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                _quietly(stream.flush)
        with open(writing, "wb") as pipe:
            pipe.write(json.dumps(answer).encode())
    finally:
        gc.disable()
        os._exit(0)


def _silence_libraries() -> None:
    """What C libraries print when they give up is not for the user; what Python prints to stderr is."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        own = os.dup(sys.stderr.fileno())
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)
        sys.stderr = os.fdopen(own, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors)


def said(error: BaseException) -> str:
    """An error that nobody expected, in one line."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def _patiently(call: Callable[[], Any]) -> Any:
    """Ctrl-C is for the part and the program; it reaches them from the terminal."""
    while True:
        try:
            return call()
        except KeyboardInterrupt:
            continue


def _quietly(call: Callable[[], Any]) -> None:
    with contextlib.suppress(OSError, ValueError):
        call()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _kinds(base: type[SondeError]) -> list[type[SondeError]]:
    return [base, *(kind for child in base.__subclasses__() for kind in _kinds(child))]
