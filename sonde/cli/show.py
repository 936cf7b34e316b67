"""`sonde show`: print one view of a recording."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sonde import json_text
from sonde.cli.inputs import add_brief, add_engine, add_json, add_recording, called, open_input, print_brief
from sonde.errors import UsageError
from sonde.views import VIEWS

# Options that some views take; `VIEWS` says which.
SPREAD_BY_RANK = ("steps", "ops", "waits", "memory", "account")  # views that --by rank shows side by side
OPTIONS = ("by", "sort", "limit", "filter", "native", "op", "thread", "whole", "against", "roof")


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
        parser.add_argument(
            "--by",
            metavar="KEY",
            help="group by: name, shape, module, line, thread, phase; or rank, side by side",
        )
        parser.add_argument("--sort", metavar="COLUMN", help="sort by this column")
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            help="rows per table (default 30, fewer in views with many tables)",
        )
        parser.add_argument("--filter", metavar="REGEX", help="only rows whose name matches")
        parser.add_argument("--native", action="store_true", help="show native frames below each row")
        parser.add_argument("--op", metavar="NAME", help="the operator to look at, for example aten::addmm")
        parser.add_argument("--thread", type=int, metavar="TID", help="only this thread")
        parser.add_argument(
            "--rank",
            metavar="N[,N…]",
            help="only these ranks of a job, for example 3 or 0,3 or 0-7 (every view)",
        )
        parser.add_argument("--whole", action="store_true", help="include start-up, imports and shutdown")
        parser.add_argument(
            "--against",
            type=Path,
            metavar="REC2",
            help="chain: a second recording to compare with, for example of the compiled model",
        )
        parser.add_argument(
            "--roof",
            metavar="FILE",
            help="roofline: a file from `sonde check --roof`, or `here` for this machine",
        )
        add_engine(parser)
        add_json(parser)
        add_brief(parser)
        parser.add_argument("--csv", action="store_true", help="print the rows of the view as CSV")

    def run(self, options: argparse.Namespace) -> int:
        from sonde.analyze.recording.notes import notes
        from sonde.render.text import show
        from sonde.render.text.notes import show_notes
        from sonde.render.text.page import Page
        from sonde.views.options import ShowOptions

        _refuse_others(options)
        recording = open_input(options.recording, options.engine, options.run_number)
        if options.rank is not None:
            from sonde.store.ranks import only_ranks, parse_ranks

            recording = only_ranks(recording, parse_ranks(options.rank))
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
            whole=options.whole,
            roof=options.roof,
            name=called(options.recording, options.run_number),
        )
        view = VIEWS[options.view]
        spread = options.by == "rank" and options.view in SPREAD_BY_RANK
        if options.csv and not spread:
            from sonde.views.tabular import write_csv

            write_csv(options.view, view.answer(recording, asked), asked.limit, sys.stdout)
            return 0
        if spread:
            from sonde.views.by_rank import by_rank
            from sonde.views.columns import plain

            data = plain(by_rank(options.view, recording, asked))
        else:
            data = view.data(recording, asked)
        first = notes(recording.meta.details, recording.meta.options, recording.table)
        if options.brief:
            print_brief({"notes": first, **data}, options.view, asked.name, recording)
            return 0
        if options.json:
            print(json_text.dumps({"notes": first, **data}))
            return 0
        page = Page()
        show_notes(first, page)
        if spread:
            from sonde.render.text.by_rank import show_spread

            show_spread(data, page, asked)
        else:
            show(options.view, data, page, asked)
        return 0


def _refuse_others(options: argparse.Namespace) -> None:
    """An option that the view does not take would change nothing: say so, and what it takes."""
    takes = VIEWS[options.view].takes
    given = [name for name in OPTIONS if getattr(options, name) not in (None, False)]
    spread = options.by == "rank" and options.view in SPREAD_BY_RANK
    if spread and options.csv:
        raise UsageError("--csv has one column per figure, and --by rank one per rank", "use --json")
    for name in given:
        if name not in takes and not (spread and name in ("by", "limit")):
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
