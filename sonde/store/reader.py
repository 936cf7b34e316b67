"""Recording on disk → tables in memory, one table at a time, when asked for."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

import duckdb
import numpy as np

from sonde.columns import Column, Table, Text
from sonde.errors import InputError
from sonde.store import build, pack
from sonde.store.meta import FILE_NAME, Meta
from sonde.store.recording import Recording
from sonde.store.schema import NONE_VALUE, NUMPY_TYPE, TABLES


def is_recording(path: Path) -> bool:
    """Does `path` look like something `open_recording` should explain or open?"""
    return (path / FILE_NAME).exists() or (path / "raw").is_dir() or pack.is_packed(path)


def open_recording(path: Path) -> Recording:
    """Open a recording folder or a packed recording; InputError says what is wrong."""
    if pack.is_packed(path):
        return _open_packed(path)
    if not path.exists():
        raise InputError(f"{path} does not exist", "make a recording with: sonde run script.py")
    if not path.is_dir():
        raise InputError(f"{path} is not a recording", "make one with: sonde run script.py")
    if not any(path.iterdir()):
        raise InputError(f"{path} is an empty folder, not a recording", "make one with: sonde run script.py")
    meta = Meta.read(path)
    if not meta.complete:
        raise InputError(
            f"{path} was not finished: the program or Sonde was killed, or is still running",
            f"finish it with: sonde recover {path}",
        )
    return Recording(meta, path=path, load=lambda name: load_table(path, name))


def _open_packed(path: Path) -> Recording:
    folder = tempfile.mkdtemp(prefix="sonde-")
    inner = open_recording(pack.unpack(path, Path(folder)))
    recording = Recording(inner.meta, path=path, load=inner.table)
    weakref.finalize(recording, shutil.rmtree, folder, True)
    return recording


def table_files(folder: Path, name: str) -> list[Path]:
    """The Parquet files of one table, in a fixed order."""
    return sorted((folder / name).glob("*.parquet"))


def load_table(folder: Path, name: str) -> Table:
    """One table with every column of the schema; columns the file lacks are "none"."""
    files = table_files(folder, name)
    if not files:
        return build.empty(name)
    connection = duckdb.connect()
    try:
        return _load(connection, name, [str(f) for f in files])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"table {name} of {folder} cannot be read: {reason}",
            f"the file is damaged; if {folder}/raw is still there: sonde recover {folder}",
        ) from None
    finally:
        connection.close()


def _load(connection: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> Table:
    source = f"read_parquet({files!r}, union_by_name=true)"
    present = {row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    specs = [c for c in TABLES[name].columns if c.name in present]
    texts = [c.name for c in specs if c.type == "text"]
    values: dict[str, list[str]] = {}
    selected = []
    for spec in specs:
        if spec.name not in texts:
            selected.append(f'"{spec.name}"')
            continue
        kind = f"text_{spec.name}"
        distinct = f'SELECT DISTINCT "{spec.name}" FROM {source} WHERE "{spec.name}" IS NOT NULL'
        found = connection.execute(distinct).fetchall()
        values[spec.name] = sorted(row[0] for row in found)
        if not values[spec.name]:
            selected.append(f'-1 AS "{spec.name}"')
            continue
        # An enum turns text into small integers inside the engine, in row order.
        connection.execute(f"CREATE TYPE {kind} AS ENUM (SELECT unnest(?))", [values[spec.name]])
        selected.append(f'coalesce(enum_code("{spec.name}"::{kind})::INTEGER, -1) AS "{spec.name}"')
    rows = connection.execute(f"SELECT {', '.join(selected)} FROM {source}").fetchnumpy()
    columns: dict[str, Column] = {}
    for spec in specs:
        # NaN is stored as null, which the engine gives back as a masked value.
        array = np.ma.filled(rows[spec.name], NONE_VALUE[spec.type])
        if spec.name in values:
            columns[spec.name] = Text(array.astype(np.int32, copy=False), values[spec.name])
        else:
            columns[spec.name] = array.astype(NUMPY_TYPE[spec.type], copy=False)
    count = len(next(iter(columns.values()))) if columns else 0
    return build.table(name, row_count=count, **columns)
