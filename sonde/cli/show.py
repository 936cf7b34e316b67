"""`sonde show`: print one view of a recording."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonde import json_text
from sonde.cli.inputs import add_engine, add_json, add_recording, called, open_input
from sonde.errors import UsageError
from sonde.views import VIEWS

# Options that some views take; `VIEWS` says which.
OPTIONS = ("by", "sort", "limit", "filter", "native", "op", "thread", "against", "roof")


class Show:
    """Print one view of a recording.

    The views:
    """

    def __init__(self) -> None:
        width = max(map(len, VIEWS))
        listing = "\n".join(f"  {name:{width}}  {view.line}" for name, view in VIEWS.items())
        self.__doc__ = f"Print one view of a recording.\n\n{listing}"

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        parser.add_argument("view", choices=list(VIEWS), metavar="VIEW", help="one of the views above")
        parser.add_argument("--by", metavar="KEY", help="group by: name, shape, module, line, thread, phase")
        parser.add_argument("--sort", metavar="COLUMN", help="sort by this column")
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            help="rows to print of each list (30, fewer where lists are many)",
        )
        parser.add_argument("--filter", metavar="REGEX", help="only rows whose name matches")
        parser.add_argument("--native", action="store_true", help="show native frames below each row")
        parser.add_argument("--op", metavar="NAME", help="the operator to look at, for example aten::addmm")
        parser.add_argument("--thread", type=int, metavar="TID", help="only this thread")
        parser.add_argument(
            "--against",
            type=Path,
            metavar="REC2",
            help="chain: a second recording to compare with, for example eager and compiled",
        )
        parser.add_argument(
            "--roof",
            metavar="FILE",
            help="roofline: roofline file from `sonde check --roof`, or `here` for this machine",
        )
        add_engine(parser)
        add_json(parser)
        parser.add_argument("--csv", action="store_true", help="print the rows of the view as CSV")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.analyze.recording.notes import notes
        from sonde.render.text import show
        from sonde.render.text.notes import show_notes
        from sonde.render.text.page import Page
        from sonde.views.options import ShowOptions

        _refuse_others(options)
        recording = open_input(options.recording, options.engine, options.run_number)
        same = options.against is not None and options.against.resolve() == options.recording.resolve()
        other = recording if same else open_input(options.against) if options.against else None
        asked = ShowOptions(
            against=other,
            by=options.by,
            sort=options.sort,
            limit=options.limit,
            filter=options.filter,
            native=options.native,
            op=options.op,
            thread=options.thread,
            roof=options.roof,
            name=called(options.recording, options.run_number),
        )
        view = VIEWS[options.view]
        if options.csv:
            from sonde.views.tabular import write_csv

            write_csv(options.view, view.answer(recording, asked), asked.limit, sys.stdout)
            return 0
        data = view.data(recording, asked)
        first = notes(recording.meta.details, recording.meta.options, recording.table)
        if options.json:
            print(json_text.dumps({"notes": first, **data}))
            return 0
        page = Page()
        show_notes(first, page)
        show(options.view, data, page, asked)
        return 0


def _refuse_others(options: argparse.Namespace) -> None:
    """An option that the view does not take would change nothing: say so, and what it takes."""
    takes = VIEWS[options.view].takes
    given = [name for name in OPTIONS if getattr(options, name) not in (None, False)]
    for name in given:
        if name not in takes:
            others = ", ".join(f"--{t}" for t in takes) or "none of these options"
            raise UsageError(f"the view {options.view} does not take --{name}", f"it takes {others}")
    if options.csv and options.json:
        raise UsageError("--csv and --json were both given", "choose one")
    if options.csv and VIEWS[options.view].sql is None:
        able = ", ".join(name for name, view in VIEWS.items() if view.sql)
        raise UsageError(
            f"--csv prints one table, and the view {options.view} is not one", f"use --json; CSV: {able}"
        )
    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit {options.limit} shows nothing", "give 1 or more")
