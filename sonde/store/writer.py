"""Tables → Parquet files of a recording: one folder per table, one file per process.

Tables that belong to the whole recording (frames, stacks, …) have one file,
`all.parquet`. Splitting the large ones by process lets any engine read one
rank of hundreds without touching the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sonde.columns import Array, Column, Table, Text, distinct
from sonde.errors import InputError
from sonde.store import engine
from sonde.store.files import PRIVATE_FILE, PRIVATE_FOLDER
from sonde.store.schema import SQL_TYPE, TABLES

if TYPE_CHECKING:
    import duckdb

SHARED_FILE = "all.parquet"
# Tables whose rows belong to one process each, by their own column or by their thread's.
SPLIT_BY_PROCESS = ("samples", "ops", "kernels", "launches", "primitives", "memory", "counters")


def write_tables(folder: Path, tables: Iterable[Table]) -> None:
    """Write every table that has rows. Existing files of the same tables are replaced."""
    by_name = {t.name: t for t in tables}
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    # By descriptor: the folder may have any name, and DuckDB can write nowhere else.
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    connection = engine.connect(write=inside)
    try:
        for table in by_name.values():
            target = folder / table.name
            if target.is_symlink():
                raise InputError(f"{target} is a link; tables are not written through links")
            for old in target.glob("*.parquet"):
                old.unlink()
            if len(table) == 0:
                continue
            target.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            for file_name, part in _split(table, by_name):
                _write(connection, part, Path(f"/proc/self/fd/{inside}", table.name, file_name))
    finally:
        connection.close()
        os.close(inside)


def _split(table: Table, tables: dict[str, Table]) -> Iterator[tuple[str, Table]]:
    process = _process_of(table, tables)
    if process is None or len(distinct(process)) == 1:
        pid = _pid(tables, int(process[0])) if process is not None else None
        yield (SHARED_FILE if pid is None else f"p{pid}.parquet"), table
        return
    for number in distinct(process):
        pid = _pid(tables, int(number))
        name = f"p{pid}.parquet" if pid is not None else SHARED_FILE
        yield name, table.take(process == number)


def _process_of(table: Table, tables: dict[str, Table]) -> Array | None:
    if table.name not in SPLIT_BY_PROCESS:
        return None
    if "process" in table:
        return table.array("process")
    threads = tables.get("threads")
    if threads is None or len(threads) == 0:
        return None
    lookup = np.full(int(threads.array("thread").max()) + 2, -1, np.int64)
    lookup[threads.array("thread")] = threads.array("process")
    found: Array = lookup[table.array("thread")]  # thread -1 reads the last entry, which is -1
    return found


def _pid(tables: dict[str, Table], process: int) -> str | None:
    processes = tables.get("processes")
    if processes is None or process < 0:
        return None
    rows = np.flatnonzero(processes.array("process") == process)
    # The process number keeps two processes apart that had the same pid one after the other.
    return f"{processes.array('pid')[rows[0]]}-{process}" if len(rows) else None


def _write(connection: duckdb.DuckDBPyConnection, table: Table, path: Path) -> None:
    columns = {name: _plain(column) for name, column in table.columns.items()}
    types = {c.name: SQL_TYPE[c.type] for c in TABLES[table.name].columns}
    select = ", ".join(f'"{name}"::{types[name]} AS "{name}"' for name in columns)
    connection.register("_columns", columns)
    partial = path.with_suffix(".partial")
    connection.sql(f"SELECT {select} FROM _columns").write_parquet(str(partial), compression="zstd")
    connection.unregister("_columns")
    partial.chmod(PRIVATE_FILE)
    partial.replace(path)


def _plain(column: Column) -> Array:
    return column.objects() if isinstance(column, Text) else np.ascontiguousarray(column)
