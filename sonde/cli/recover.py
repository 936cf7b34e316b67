"""`sonde recover`: finish a recording whose program, or whose Sonde, was killed."""

from __future__ import annotations

import argparse
from pathlib import Path


class Recover:
    """Finish a recording whose program was killed, from the logs it left.

    Everything up to the last quarter of a second before the end is there; what
    is missing is counted in `sonde show REC losses`. A finished recording that
    still has its raw logs can be made again the same way.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("recording", type=Path, metavar="REC", help="the unfinished recording")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.record.finalise import recover
        from sonde.render.text.page import Page
        from sonde.render.text.summary import show_summary

        recording = recover(options.recording)
        show_summary(recording, Page(), str(options.recording))
        return 0
