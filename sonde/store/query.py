"""SQL over a recording: every table of the schema and every view, in one connection."""

from __future__ import annotations

import duckdb

from sonde.columns import Array, Column, Text
from sonde.errors import UsageError
from sonde.store.reader import table_files
from sonde.store.recording import Recording
from sonde.store.schema import SQL_TYPE, TABLES, TableSpec
from sonde.store.views import VIEWS


def connect(recording: Recording) -> duckdb.DuckDBPyConnection:
    """A connection in which the tables and views can be queried."""
    connection = duckdb.connect()
    for spec in TABLES.values():
        files = table_files(recording.path, spec.name) if recording.path and recording.path.is_dir() else []
        if files:
            listed = [str(f) for f in files]
            connection.execute(
                f"CREATE VIEW {spec.name} AS SELECT {_columns(connection, spec, listed)} "
                f"FROM read_parquet({listed!r}, union_by_name=true)"
            )
        else:
            _load(connection, recording, spec)
    for view in VIEWS:
        connection.execute(f"CREATE VIEW {view.name} AS {view.sql}")
    return connection


def run(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    """Execute what a user typed; their mistake becomes a UsageError in DuckDB's own words."""
    try:
        return connection.execute(sql)
    except duckdb.Error as error:
        raise UsageError(str(error).strip(), "tables and columns: sonde query REC --schema") from None


def schema_text() -> str:
    """The documented schema: tables with units and comments, then the views."""
    lines: list[str] = []
    for spec in TABLES.values():
        lines.append(f"{spec.name}: a row is {spec.row_is}")
        width = max(len(c.name) for c in spec.columns)
        for column in spec.columns:
            unit = f" [{column.unit}]" if column.unit else ""
            lines.append(f"    {column.name:{width}}  {column.type:5}{unit} {column.comment}")
        lines.append("")
    lines.append("views:")
    width = max(len(v.name) for v in VIEWS)
    lines += [f"    {v.name:{width}}  {v.answers}" for v in VIEWS]
    return "\n".join(lines)


def schema_json() -> dict[str, object]:
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
        "views": {view.name: view.answers for view in VIEWS},
    }


def _columns(connection: duckdb.DuckDBPyConnection, spec: TableSpec, files: list[str]) -> str:
    """A select list that gives columns an older file lacks as null."""
    described = f"DESCRIBE SELECT * FROM read_parquet({files!r}, union_by_name=true)"
    present = {row[0] for row in connection.execute(described).fetchall()}
    return ", ".join(
        f'"{c.name}"' if c.name in present else f'NULL::{SQL_TYPE[c.type]} AS "{c.name}"'
        for c in spec.columns
    )


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
