"""`sonde query`: ask a recording with SQL."""

from __future__ import annotations

import argparse
import json
import sys
from itertools import islice
from typing import TYPE_CHECKING

from sonde.cli.inputs import add_json, add_recording, add_run, open_noted
from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.store.query import Answer

MAX_ROWS = 1_000_000  # that a table or JSON may have; CSV is written as rows come


class Query:
    """Query a recording with SQL (DuckDB's dialect).

    Tables and views with the meaning of every column:  sonde query REC --schema
    For example:  sonde query REC "SELECT name, self_ms FROM hot_frames LIMIT 10"
    """

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        add_recording(parser)
        add_run(parser)
        parser.add_argument("sql", nargs="?", metavar="SQL", help="the query; '-' reads it from stdin")
        parser.add_argument("--schema", action="store_true", help="print the schema and exit")
        parser.add_argument("--csv", action="store_true", help="print CSV")
        parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop the query after this time")
        add_json(parser)

    def run(self, options: argparse.Namespace) -> int:
        from sonde.store import query
        from sonde.views.tabular import made_tables

        made = made_tables()
        recording = open_noted(options.recording, options.run_number)
        if options.schema:
            schema = query.schema_json(made) if options.json else None
            print(json.dumps(schema) if schema else query.schema_text(made))
            return 0
        if not options.sql:
            raise UsageError("no SQL given", 'try: sonde query REC "SELECT * FROM hot_frames LIMIT 10"')
        sql = sys.stdin.read() if options.sql == "-" else options.sql
        if options.timeout is not None and not 0 < options.timeout < 1e6:
            raise UsageError(f"--timeout {options.timeout:g} is out of range", "give seconds, for example 10")
        with query.Session(recording, sql, made) as session:
            _print(session.ask(sql, options.timeout), options)
        return 0


def _print(answer: Answer, options: argparse.Namespace) -> None:
    if options.csv:
        import csv

        from sonde.cells import safe_cell

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([safe_cell(name) for name in answer.names])
        writer.writerows([safe_cell(value) for value in row] for row in answer.rows)
        return
    names, rows = answer.names, list(islice(answer.rows, MAX_ROWS + 1))
    if len(rows) > MAX_ROWS:
        raise UsageError(f"the answer has more than {MAX_ROWS:,} rows", "add a LIMIT, or take it as --csv")
    if options.json:
        print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], default=str))
        return
    from sonde.render.text.page import Column, Page

    numeric = [all(isinstance(r[i], (int, float, type(None))) for r in rows) for i in range(len(names))]
    page = Page()
    page.table([Column(n, right=numeric[i]) for i, n in enumerate(names)], rows)
    page.line(f"{len(rows)} row{'s' if len(rows) != 1 else ''}")
