"""The errors that Sonde raises on purpose, each with the exit code it ends in.

Every message says what happened, the value seen, and what to do next.
`sonde.cli.main` alone prints them; everything else raises.
"""

from __future__ import annotations

import errno
import os
import sys


class SondeError(Exception):
    """An expected failure. `hint` is the next thing for the user to do."""

    exit_code = 3

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SondeError):
    """The command line or an API call asks for something that makes no sense."""

    exit_code = 2


class InputError(SondeError):
    """A file or recording is missing, malformed, truncated or of an unknown version."""

    exit_code = 3


class EnvironmentLacks(SondeError):
    """This machine or environment lacks something; the hint says how to get it."""

    exit_code = 4


class FindingError(SondeError):
    """A finding or a regression where the user asked to fail on one."""

    exit_code = 1


class Terminated(KeyboardInterrupt):
    """SIGTERM reached an experiment: it ends as on Ctrl-C, with what is known so far."""

    exit_code = 143


class InternalError(SondeError):
    """A bug in Sonde. BSD's EX_SOFTWARE, so that no script takes it for a finding or for bad input."""

    exit_code = 70


# What the machine, not the input, is to blame for.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def expected(error: BaseException) -> SondeError | None:
    """What the system, the interpreter or DuckDB says about an input or the machine, as one of Sonde's errors.

    None for anything else: that is a bug. Files can vanish, disks fill and memory run out below any call, so
    this is asked where a command or one file of many ends, not around each call.
    """
    if isinstance(error, SondeError):
        return error
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, MemoryError):
        return EnvironmentLacks(
            "there is not enough memory for this input", "give it more memory, or a smaller input"
        )
    if isinstance(error, RecursionError):
        return InputError("the input is nested too deeply", "record or export it again")
    if isinstance(error, OverflowError):
        return InputError(f"a number of the input is out of range: {error}", "record or export it again")
    if isinstance(error, UnicodeError):
        return InputError(f"text that cannot be encoded: {error}")
    duckdb = sys.modules.get("duckdb")  # never imported for this: --help stays quick
    if duckdb is not None and isinstance(error, duckdb.Error):
        text = next((line for line in str(error).splitlines() if line.strip()), "")
        kind = EnvironmentLacks if isinstance(error, duckdb.OutOfMemoryException) else InputError
        return kind(f"DuckDB cannot do this: {text}")
    return None


def _of_system(error: OSError) -> SondeError:
    reason = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    names = [os.fsdecode(n) for n in (error.filename, error.filename2) if isinstance(n, (str, bytes))]
    message = f"{' and '.join(names)}: {reason}" if names else reason
    if error.errno in _NO_ROOM:
        return EnvironmentLacks(message, "make room, or write elsewhere with -o")
    return InputError(message)
