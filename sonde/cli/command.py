"""What a command of the command line is: a class with two methods, one file each.

The class docstring is the help text: its first line is the summary shown by
`sonde --help`. `run` returns the exit code; failures are raised as
`sonde.errors.SondeError` and printed by `sonde.cli.main` alone.
"""

from __future__ import annotations

import argparse
from typing import Protocol


class Command(Protocol):
    """One command. Heavy imports belong inside `run`, so that `sonde --help` stays quick."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it and return the exit code."""
