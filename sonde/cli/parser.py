"""The argument parser of every command: argparse, which also suggests the option that was meant.

Enters: a command. Leaves: its parser; wrong usage prints one or two lines on stderr and ends with 2.
"""

from __future__ import annotations

import argparse
import difflib
import re
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A misspelt option or choice is answered with the nearest one instead of a wall of usage text."""

    def error(self, message: str) -> NoReturn:
        near = self._nearest(message)
        hint = f"did you mean {near}?" if near else f"see: {self.prog} --help"
        self.exit(2, f"{self.prog}: {message} → {hint}\n")

    def _nearest(self, message: str) -> str | None:
        unknown = re.match(r"unrecognized arguments: (-[^\s=]+)", message)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            return next(iter(difflib.get_close_matches(unknown[1], options, 1, 0.6)), None)
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message)
        if choice:
            known = [name.strip("' ") for name in choice[2].split(",")]
            return next(iter(difflib.get_close_matches(choice[1], known, 1, 0.6)), None)
        return None
