"""`sonde guide`: how to use Sonde, on one page, for assistants and for people in a hurry."""

from __future__ import annotations

import argparse


class Guide:
    """Print a one-page guide for coding assistants: record, ask, change, prove.

    The same text is installed as a skill (SKILL.md with front matter); --path prints where.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--path", action="store_true", help="print the folder of the skill, to copy or link"
        )

    def run(self, options: argparse.Namespace) -> int:
        from sonde.skills import SKILL, guide_text

        print(SKILL.parent if options.path else guide_text())
        return 0
