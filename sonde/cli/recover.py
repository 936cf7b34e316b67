"""`sonde recover`: finish a recording whose program, or whose Sonde, was killed."""

from __future__ import annotations

import argparse
from pathlib import Path


class Recover:
    """Finish a recording whose program was killed, from the logs it left.

    Everything is kept but at most the last half second; `sonde show REC losses` counts
    what is missing. It also adds what a background process of the program recorded
    after the recording was finished.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("recording", type=Path, metavar="REC", help="the unfinished recording")

        parser.add_argument(
            "--source", action="store_true", help="also store the project's source files, as they are now"
        )

    def run(self, options: argparse.Namespace) -> int:
        from sonde.record.outside.finalise import recover
        from sonde.render.text.page import Page
        from sonde.render.text.summary import show_summary

        recording = recover(options.recording, options.source)
        show_summary(recording, Page(), str(options.recording))
        return 0
