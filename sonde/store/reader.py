"""Recording on disk → tables in memory, one table at a time, when asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sonde import rawfolder
from sonde.columns import Column, Table, Text
from sonde.errors import InputError
from sonde.store import build, checksums, engine, links
from sonde.store.files import FILE_NAME, Files, Folder, meta_text, opened, table_files
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.store.schema import NONE_VALUE, NUMPY_TYPE, SQL_TYPE, TABLES

if TYPE_CHECKING:
    import duckdb


# Up to here a table's text is numbered in Python: two statements per column cost more.
FEW_ROWS = 10_000
_ZIP = b"PK\x03\x04"


def is_recording(path: Path) -> bool:
    """Does `path` look like something `open_recording` should explain or open?"""
    return (path / FILE_NAME).exists() or (path / rawfolder.FOLDER).is_dir() or _is_packed(path)


def open_recording(path: Path) -> Recording:
    """Open a recording folder or a packed recording; InputError says what is wrong."""
    if _is_packed(path):
        from sonde.store.archive import Archive

        return _open(Archive(path))
    if not path.exists():
        raise InputError(f"{path} does not exist", "make a recording with: sonde run script.py")
    if not path.is_dir():
        raise InputError(f"{path} is not a recording", "make one with: sonde run script.py")
    if not any(path.iterdir()):
        raise InputError(f"{path} is an empty folder, not a recording", "make one with: sonde run script.py")
    return _open(Folder(path))


def _is_packed(path: Path) -> bool:
    """As `archive.is_packed`, asked with a look at the first bytes: a trace needs no reader of zip files."""
    try:
        if not path.is_file():  # a FIFO would be waited for
            return False
        with path.open("rb") as file:
            if file.read(len(_ZIP)) != _ZIP:
                return False
    except OSError:
        return False
    from sonde.store.archive import is_packed

    return is_packed(path)


def _open(files: Files) -> Recording:
    path = files.path
    meta = Meta.read(path, meta_text(files) if FILE_NAME in files.names() else None)
    if not meta.complete:
        raise InputError(
            f"{path} was not finished: the program or Sonde was killed, or is still running",
            f"finish it with: sonde recover {path}",
        )
    return Recording(meta, path=path, load=_Checked(files, meta.files), files=files)


class _Checked:
    """Loads tables of one recording and answers for them: unchanged since they were written, with links that hold."""

    def __init__(self, files: Files, checksum_of: Mapping[str, str]) -> None:
        self._files, self._checksum_of = files, checksum_of
        self._largest: dict[str, int] = {}

    def __call__(self, name: str) -> Table:
        checksums.verify(self._files, name, self._checksum_of)
        table = load_table(self._files, name)
        try:
            links.check(table, self._largest_of)
        except InputError as error:
            raise InputError(f"{self._files.path}: {error.message}", "record it again") from None
        if (column := TABLES[name].identity) is not None:
            self._largest[name] = int(table.array(column).max(initial=-1))
        return table

    def _largest_of(self, name: str) -> int:
        """The largest identity in table `name`, without loading the rest of it; -1 when it has no rows."""
        if name not in self._largest:
            checksums.verify(self._files, name, self._checksum_of)
            column = load_table(self._files, name, (links.column_of(name),)).array(links.column_of(name))
            self._largest[name] = int(column.max(initial=-1))
        return self._largest[name]


def load_table(files: Files, name: str, only: Sequence[str] | None = None) -> Table:
    """One table with every column of the schema; columns the file lacks, or that are not asked for, are "none"."""
    with opened(files, table_files(files, name)) as descriptors:
        if not descriptors:
            return build.empty(name)
        import duckdb

        try:
            with engine.reading(descriptors) as connection:
                return _load(connection, name, only)
        except (duckdb.Error, RuntimeError) as error:  # RuntimeError: names of columns that are no text
            raise damaged(files, name, error) from None


def damaged(files: Files, name: str, error: Exception) -> InputError:
    """What to say when DuckDB cannot read a table."""
    reason = re.sub(r'"?/proc/self/fd/\d+"?', "the file", str(error).partition("\n")[0])
    return InputError(
        f"table {name} of {files.path} cannot be read: {reason}",
        f"the file is damaged; if {files.path}/raw is still there: sonde recover {files.path}",
    )


def room_bytes() -> int:
    """What one table may take in memory."""
    return engine.memory_bytes()


def _load(connection: duckdb.DuckDBPyConnection, name: str, only: Sequence[str] | None) -> Table:
    """The view `source` as a table."""
    present = {row[0] for row in connection.execute("DESCRIBE source").fetchall()}
    specs = [c for c in TABLES[name].columns if c.name in present and (only is None or c.name in only)]
    # A few bytes can stand for any number of equal rows: ask before they are made.
    ((declared,),) = connection.execute("SELECT count(*) FROM source").fetchall()
    if declared * len(TABLES[name].columns) * 8 > room_bytes():
        raise InputError(f"table {name} declares {declared:,} rows, more than this machine's memory holds")
    few = declared <= FEW_ROWS
    values: dict[str, list[str]] = {}
    selected = []
    for spec in specs:
        if spec.type != "text" or few:
            # A file may say that it holds another type: what does not fit is an error, never another number.
            selected.append(f'"{spec.name}"::{SQL_TYPE[spec.type]} AS "{spec.name}"')
            continue
        kind = f"text_{spec.name}"
        distinct = f'SELECT DISTINCT "{spec.name}"::VARCHAR FROM source WHERE "{spec.name}" IS NOT NULL'
        found = connection.execute(distinct).fetchall()
        values[spec.name] = sorted(row[0] for row in found)
        if not values[spec.name]:
            selected.append(f'-1 AS "{spec.name}"')
            continue
        # An enum turns text into small integers inside the engine, in row order.
        connection.execute(f"CREATE TYPE {kind} AS ENUM (SELECT unnest(?))", [values[spec.name]])
        selected.append(f'coalesce(enum_code("{spec.name}"::VARCHAR::{kind})::INTEGER, -1) AS "{spec.name}"')
    rows = connection.execute(f"SELECT {', '.join(selected)} FROM source").fetchnumpy()
    columns: dict[str, Column] = {}
    for spec in specs:
        # NaN is stored as null, which the engine gives back as a masked value.
        if spec.type == "text" and few:
            columns[spec.name] = _encoded(rows[spec.name].tolist())
            continue
        array = np.ma.filled(rows[spec.name], NONE_VALUE[spec.type])
        if spec.name in values:
            columns[spec.name] = Text(array.astype(np.int32, copy=False), values[spec.name])
        else:
            columns[spec.name] = array.astype(NUMPY_TYPE[spec.type], copy=False)
    count = len(next(iter(columns.values()))) if columns else 0
    return build.table(name, row_count=count, **columns)


def _encoded(rows: list[str | None]) -> Text:
    """As the enums number them: in the order of the alphabet."""
    values = sorted({value for value in rows if value is not None})
    code: dict[str | None, int] = {value: number for number, value in enumerate(values)}
    return Text(np.fromiter((code.get(value, -1) for value in rows), np.int32, len(rows)), values)
