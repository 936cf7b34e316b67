"""`sonde show`: print one view of a recording."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from sonde.cli.inputs import add_engine, add_json, add_recording, open_input
from sonde.render.text import VIEWS


class Show:
    """Print one view of a recording.

    The views:
    """

    def __init__(self) -> None:
        width = max(map(len, VIEWS))
        listing = "\n".join(f"  {name:{width}}  {line}" for name, (_, line) in VIEWS.items())
        self.__doc__ = f"Print one view of a recording.\n\n{listing}"

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        parser.add_argument("view", choices=list(VIEWS), metavar="VIEW", help="one of the views above")
        parser.add_argument("--by", metavar="KEY", help="group by: name, shape, module, line, thread, phase")
        parser.add_argument("--sort", metavar="COLUMN", help="sort by this column")
        parser.add_argument("--limit", type=int, default=30, metavar="N", help="rows to print (default 30)")
        parser.add_argument("--filter", metavar="REGEX", help="only rows whose name matches")
        parser.add_argument("--native", action="store_true", help="show native frames below each row")
        parser.add_argument("--op", metavar="NAME", help="the operator to look at, for example aten::addmm")
        parser.add_argument("--thread", type=int, metavar="TID", help="only this thread")
        parser.add_argument(
            "--against",
            type=Path,
            metavar="REC2",
            help="chain: a second recording beside it, eager and compiled",
        )
        parser.add_argument(
            "--roof",
            metavar="FILE",
            help="roofline: the roofs to hold it against, as sonde check --roof keeps them; "
            "`here` for those of this machine",
        )
        add_engine(parser)
        add_json(parser)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.render.text.page import Page
        from sonde.render.text.view import ShowOptions

        recording = open_input(options.recording, options.engine)
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
            name=str(options.recording),
        )
        view = importlib.import_module(VIEWS[options.view][0])
        data = view.data(recording, asked)
        if options.json:
            print(json.dumps(data, ensure_ascii=False, allow_nan=False))
        else:
            view.show(data, Page(), asked)
        return 0
