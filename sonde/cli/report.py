"""`sonde report`: a self-contained HTML page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonde.cli.inputs import add_engine, add_recording, fresh_path, open_input
from sonde.errors import UsageError


class Report:
    """Write a self-contained HTML page of a recording or a trace.

    The page opens from disk with no server and no network. It contains the source code
    stored in the recording, unless --no-source is given; no other file is read.
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        parser.add_argument(
            "-o", "--output", type=Path, metavar="FILE", help="file to write (default: REC.html)"
        )
        parser.add_argument("--force", action="store_true", help="overwrite FILE")
        parser.add_argument("--open", action="store_true", help="open it in a browser")
        parser.add_argument("--no-source", action="store_true", help="do not embed source code")
        parser.add_argument(
            "--max-size", default="5MB", metavar="SIZE", help="maximum size of the page (default 5MB)"
        )
        add_engine(parser)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.render.html import ReportOptions, write_report
        from sonde.render.html.judged import judged

        recording = open_input(options.recording, options.engine, options.run_number)
        name = options.recording.name
        for suffix in (".gz", ".json", ".zip", ".sonde"):
            name = name.removesuffix(suffix)
        target = fresh_path(options.output, Path(f"{name}.html"), options.force)
        size = parse_size(options.max_size)
        said = judged(recording)
        asked = ReportOptions(
            max_size_bytes=size,
            no_source=options.no_source,
            insights=said.insights,
            findings=said.findings,
            taken_away=said.taken_away,
            closing=said.closing,
            headroom=said.headroom,
        )
        summary = write_report(recording, target, asked)
        print(f"{target}  {summary.size_bytes / 1e6:.2f} MB", file=sys.stderr)
        print(target.resolve().as_uri())
        if options.open:
            import webbrowser

            webbrowser.open(target.resolve().as_uri())
        return 0


def parse_size(text: str) -> int:
    """5MB, 800kB, 1.5GB, 1000000 → bytes."""
    units = {"gb": 1e9, "mb": 1e6, "kb": 1e3, "b": 1.0, "": 1.0}
    digits = text.strip().lower().rstrip("gmkb")
    unit = text.strip().lower()[len(digits) :]
    try:
        size = float(digits) * units[unit]
    except (ValueError, KeyError):
        raise UsageError(f"{text!r} is not a size", "write it like 5MB or 800kB") from None
    if size < 200_000:
        raise UsageError(f"{text} is too small for a page", "the smallest is 200kB")
    return int(size)
