"""The tables themselves: CSV and Parquet as a zip of one file per table, JSON as one document."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from sonde.cells import safe_cell
from sonde.columns import Table, Text
from sonde.store.recording import Recording
from sonde.store.writer import write_tables


def write_csv(recording: Recording, stream: BinaryIO) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for table in recording.tables():
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(list(table))
            writer.writerows([safe_cell(value) for value in row] for row in _rows(table))
            archive.writestr(f"{table.name}.csv", text.getvalue())


def write_parquet(recording: Recording, stream: BinaryIO) -> None:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(stream, "w") as archive:
        write_tables(Path(folder), recording.tables())
        for path in sorted(Path(folder).rglob("*.parquet")):
            archive.write(path, path.relative_to(folder))


def write_json(recording: Recording, stream: BinaryIO) -> None:
    """`{"program": …, "tables": {name: {column: [values]}}}`: columns, not rows, to stay small."""
    tables = {t.name: {name: _values(t, name) for name in t} for t in recording.tables()}
    document = {"program": recording.meta.program, "schema_version": recording.meta.schema_version}
    text = json.dumps({**document, "tables": tables}, ensure_ascii=False, allow_nan=False)
    stream.write(text.encode("utf-8", "replace") + b"\n")


def _values(table: Table, name: str) -> list[Any]:
    column = table.columns[name]
    if isinstance(column, Text):
        return list(column.tolist())
    if column.dtype.kind == "f":
        return [None if math.isnan(v) or math.isinf(v) else v for v in column.tolist()]
    values: list[Any] = column.tolist()
    return values


def _rows(table: Table) -> zip[tuple[Any, ...]]:
    return zip(*(_values(table, name) for name in table), strict=True)
