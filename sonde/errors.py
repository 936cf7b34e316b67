"""The errors that Sonde raises on purpose, each with the exit code it ends in.

Every message says what happened, the value seen, and what to do next.
`sonde.cli.main` alone prints them; everything else raises.
"""

from __future__ import annotations


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
