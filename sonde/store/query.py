"""SQL over a recording: its tables and views, in a connection that can read nothing else.

Enters: a recording and what a user typed. Leaves: names and rows, or a UsageError in one line. Only the
tables that the text names are opened. One statement that reads is run; the lock of `sonde.store.engine`
holds for whatever that statement tries.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Overdue
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

import duckdb

from sonde.columns import Array, Column, Text
from sonde.errors import SondeError, UsageError
from sonde.store import checksums, engine
from sonde.store.files import opened, table_files
from sonde.store.made import MadeTable, add_made
from sonde.store.reader import damaged
from sonde.store.recording import Recording
from sonde.store.schema import SQL_TYPE, TABLES, TableSpec
from sonde.store.views import VIEWS

Work = TypeVar("Work")
CHUNK_ROWS = 10_000
_READS = ("SELECT", "MULTI")  # MULTI: a PIVOT whose columns come from the rows
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(ANALYZE\s+)?(\([^)]*\)\s*)?", re.IGNORECASE)
# Words that may reach a table without naming it.
_ANY_TABLE = re.compile(
    r"show|describe|summarize|query|query_table|information_schema|(duckdb|pg|sqlite|pragma)_\w+"
)
# Words that may read a table by a name that is put together.
_BY_TEXT = {"query", "query_table"}
_HINT = "tables and columns: sonde query REC --schema"


@dataclass(frozen=True)
class Answer:
    """Column names, and rows as they come."""

    names: list[str]
    rows: Iterator[tuple[object, ...]]


class Session:
    """The tables and views of a recording, ready for statements that read."""

    def __init__(
        self, recording: Recording, sql: str | None = None, made: Mapping[str, MadeTable] | None = None
    ) -> None:
        """With `sql` only the tables that it names are there. `made`: tables that are made when they are named."""
        self._open = ExitStack()
        wanted = tables_named(sql) if sql is not None else set(TABLES)
        names = {t: table_files(recording.files, t) if recording.files else [] for t in TABLES if t in wanted}
        every = [name for found in names.values() for name in found]
        descriptors = self._open.enter_context(opened(recording.files, every)) if recording.files else []
        self._connection = self._open.enter_context(engine.connect(descriptors))
        try:
            for table, found in names.items():
                mine, descriptors = descriptors[: len(found)], descriptors[len(found) :]
                self._add(recording, TABLES[table], mine)
        except BaseException:
            self._open.close()
            raise
        for view in VIEWS:
            if _tables_of(view.name) <= wanted:
                self._connection.execute(f"CREATE VIEW {view.name} AS {view.sql}")
        try:
            for name, one in (made or {}).items():
                self._add_made(name, one, recording, sql)
        except BaseException:
            self._open.close()
            raise

    def _add_made(self, name: str, table: MadeTable, recording: Recording, sql: str | None) -> None:
        words = _words(sql or "")
        if name in words:
            add_made(self._connection, name, table, recording)
        elif sql is None or words & _BY_TEXT:
            with contextlib.suppress(SondeError):  # it may not be the one: a roofline needs a measured roof
                add_made(self._connection, name, table, recording)
        elif any(_ANY_TABLE.fullmatch(word) for word in words):
            add_made(self._connection, name, table, None)

    def _add(self, recording: Recording, spec: TableSpec, descriptors: list[int]) -> None:
        if not descriptors or recording.files is None:
            _load(self._connection, recording, spec)
            return
        checksums.verify(recording.files, spec.name, recording.meta.files)
        try:
            _view(self._connection, spec, descriptors)
        except duckdb.Error as error:
            raise damaged(recording.files, spec.name, error) from None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def ask(self, sql: str, timeout_s: float | None = None) -> Answer:
        """Run one statement. Its rows are made as they are taken; `timeout_s` is for all of them."""
        rows = self._rows(sql, time.monotonic() + timeout_s if timeout_s is not None else None)
        names = next(rows)
        return Answer([str(name) for name in names], rows)

    def _rows(self, sql: str, deadline: float | None) -> Iterator[tuple[object, ...]]:
        """The column names, then the rows."""
        try:
            result = self._wait(lambda: _executed(self._connection, sql), deadline)
            yield tuple(column[0] for column in result.description or [])
            while chunk := self._wait(lambda: result.fetchmany(CHUNK_ROWS), deadline):
                yield from chunk
        except (duckdb.Error, ValueError, OverflowError) as error:
            raise UsageError(_one_line(error), _HINT) from None

    def _wait(self, work: Callable[[], Work], deadline: float | None) -> Work:
        """Do `work` on another thread: this one hears of Ctrl-C and of the time, and stops the query then."""
        with ThreadPoolExecutor(1) as worker:
            done = worker.submit(work)
            try:
                return done.result(max(0.0, deadline - time.monotonic()) if deadline is not None else None)
            except BaseException as error:
                # An interrupt before the query has begun to run is lost: repeat it.
                while not done.done():
                    self._connection.interrupt()
                    time.sleep(0.02)
                if isinstance(error, Overdue) and deadline is not None and time.monotonic() >= deadline:
                    raise UsageError("the query was stopped by --timeout", "allow more seconds") from None
                raise


def tables_named(sql: str) -> set[str]:
    """The tables that a statement may need: those it names, and those under the views it names."""
    words = _words(sql)
    if any(_ANY_TABLE.fullmatch(word) for word in words):
        return set(TABLES)
    return set().union(*(_tables_of(word) for word in words)) if words else set()


def _words(sql: str) -> set[str]:
    return set(re.findall(r"\w+", sql.lower()))


def _tables_of(name: str) -> set[str]:
    if name in TABLES:
        return {name}
    view = next((v for v in VIEWS if v.name == name), None)
    return tables_named(view.sql) if view else set()


def _executed(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    statements = connection.extract_statements(sql)
    if not statements:
        raise UsageError("there is no statement in the SQL", 'try: "SELECT * FROM hot_frames LIMIT 10"')
    if len(statements) > 1:
        raise UsageError(f"{len(statements)} statements given; one is run", "join them into one with WITH")
    kind = statements[0].type.name
    explained = _EXPLAIN.match(sql) if kind == "EXPLAIN" else None
    inner = connection.extract_statements(sql[explained.end() :]) if explained else statements
    if not inner or inner[0].type.name not in _READS:
        raise UsageError(f"{kind} is refused: sonde query only reads the recording", _HINT)
    return _without_zones(connection, sql) if kind == "SELECT" else connection.execute(sql)


def _without_zones(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    """Times with a zone need pytz to become Python objects; as text they need nothing."""
    asked = connection.sql(sql)  # bound, not run
    zoned = ["TIME ZONE" in str(kind) for kind in asked.types]
    if not any(zoned):
        return connection.execute(sql)
    quoted = ['"' + name.replace('"', '""') + '"' for name in asked.columns]
    columns = [f"#{i + 1}{'::VARCHAR' * z} AS {quoted[i]}" for i, z in enumerate(zoned)]
    asked.project(", ".join(columns)).create_view("_as_text")
    return connection.execute("FROM _as_text")


def _one_line(error: Exception) -> str:
    """What DuckDB says, without its drawing of the statement below."""
    return " ".join(str(error).partition("\n\nLINE ")[0].split())


def schema_text(made: Mapping[str, MadeTable]) -> str:
    """The documented schema: tables with units and comments, then the views."""
    lines: list[str] = []
    for spec in TABLES.values():
        lines.append(f"{spec.name}: a row is {spec.row_is}")
        width = max(len(c.name) for c in spec.columns)
        for column in spec.columns:
            unit = f" [{column.unit}]" if column.unit else ""
            lines.append(f"    {column.name:{width}}  {column.type:5}{unit} {column.comment}")
        lines.append("")
    for name, table in made.items():
        columns = table.columns()
        lines.append(f"{name}: {table.answers}")
        width = max(len(c.name) for c in columns)
        for c in columns:
            unit = f" [{c.unit}]" if c.unit else ""
            lines.append(f"    {c.name:{width}}  {c.type.lower():7}{unit} {c.meaning}")
        lines.append("")
    lines.append("views:")
    width = max(len(v.name) for v in VIEWS)
    lines += [f"    {v.name:{width}}  {v.answers}" for v in VIEWS]
    return "\n".join(lines)


def schema_json(made: Mapping[str, MadeTable]) -> dict[str, object]:
    """The same for programs."""
    return {
        "tables": {
            spec.name: {
                "row_is": spec.row_is,
                "columns": [
                    {"name": c.name, "type": c.type, "unit": c.unit, "comment": c.comment}
                    for c in spec.columns
                ],
            }
            for spec in TABLES.values()
        },
        "made": {
            name: {"answers": table.answers, "columns": [column._asdict() for column in table.columns()]}
            for name, table in made.items()
        },
        "views": {view.name: view.answers for view in VIEWS},
    }


def _view(connection: duckdb.DuckDBPyConnection, spec: TableSpec, descriptors: list[int]) -> None:
    """A view of the files, which gives columns an older file lacks as null."""
    rows = engine.parquet(connection, descriptors)
    columns = [
        f'"{c.name}"' if c.name in rows.columns else f'NULL::{SQL_TYPE[c.type]} AS "{c.name}"'
        for c in spec.columns
    ]
    rows.project(", ".join(columns)).create_view(spec.name)


def _load(connection: duckdb.DuckDBPyConnection, recording: Recording, spec: TableSpec) -> None:
    table = recording.table(spec.name)
    declared = ", ".join(f'"{c.name}" {SQL_TYPE[c.type]}' for c in spec.columns)
    connection.execute(f"CREATE TABLE {spec.name} ({declared})")
    if len(table) == 0:
        return
    connection.register("_columns", {name: _plain(c) for name, c in table.columns.items()})
    names = ", ".join(f'"{c.name}"' for c in spec.columns)
    connection.execute(f"INSERT INTO {spec.name} SELECT {names} FROM _columns")
    connection.unregister("_columns")


def _plain(column: Column) -> Array:
    return column.objects() if isinstance(column, Text) else column
