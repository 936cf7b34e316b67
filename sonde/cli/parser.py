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
        self.exit(2, f"{self.prog}: {self._answer(message)}\n")

    def _answer(self, message: str) -> str:
        """The suggestion stands before a list of all that could be meant: some commands have twenty views."""
        unknown = re.match(r"unrecognized arguments: (-[^\s=]+)", message)
        choice = re.match(r"argument ([^:]+): invalid choice: '([^']*)' \(choose from (.*)\)$", message)
        if unknown:
            near = _nearest(unknown[1], [name for action in self._actions for name in action.option_strings])
            if near:
                return f"{message} → did you mean {near}?"
        elif choice:
            known = [name.strip("' ") for name in choice[3].split(",")]
            near = _nearest(choice[2], known)
            if near:
                return f"there is no {choice[1]} {choice[2]!r} → did you mean {near}? (one of: {', '.join(known)})"
        return f"{message} → see: {self.prog} --help"


def _nearest(word: str, known: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word, known, 1, 0.6)), None)
