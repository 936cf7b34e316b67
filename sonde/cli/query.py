"""`sonde query`: ask a recording with SQL."""

from __future__ import annotations

import argparse
import json
import sys

from sonde.cli.inputs import add_json, add_recording, open_input
from sonde.errors import UsageError


class Query:
    """Ask a recording with SQL (DuckDB's dialect).

    Tables and views with the meaning of every column:  sonde query REC --schema
    For example:  sonde query REC "SELECT name, self_ms FROM hot_frames LIMIT 10"
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        parser.add_argument("sql", nargs="?", metavar="SQL", help="the question; read from stdin when '-'")
        parser.add_argument("--schema", action="store_true", help="print the documented schema and stop")
        parser.add_argument("--csv", action="store_true", help="print CSV")
        add_json(parser)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.store import query

        recording = open_input(options.recording)
        if options.schema:
            schema = query.schema_json() if options.json else None
            print(json.dumps(schema) if schema else query.schema_text())
            return 0
        if not options.sql:
            raise UsageError("no SQL given", 'try: sonde query REC "SELECT * FROM hot_frames LIMIT 10"')
        sql = sys.stdin.read() if options.sql == "-" else options.sql
        result = query.run(query.connect(recording), sql)
        names = [column[0] for column in result.description or []]
        rows = result.fetchall()
        _print(names, rows, options)
        return 0


def _print(names: list[str], rows: list[tuple[object, ...]], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], default=str))
    elif options.csv:
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    else:
        from sonde.render.text.page import Column, Page

        numeric = [all(isinstance(r[i], (int, float, type(None))) for r in rows) for i in range(len(names))]
        page = Page()
        page.table([Column(n, right=numeric[i]) for i, n in enumerate(names)], rows)
        page.line(f"{len(rows)} row{'s' if len(rows) != 1 else ''}")
