"""Tables of all recordings are loaded over one connection, and none sees what another left in it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import InputError
from sonde.store import build, engine, reader
from sonde.store.files import Folder
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.slots import Slots
from sonde.store.writer import write_tables
from tests.unit.store import recordings

ROWS = 50


def written(folder: Path, first: int, rows: int = ROWS) -> Path:
    """A recording whose counters tell it from others of the same size."""
    folder.mkdir()
    values = np.arange(first, first + rows, dtype=np.float64)
    names = [f"n{first + row % 7}" if row % 5 else None for row in range(rows)]
    counters = build.table("counters", time_ns=np.arange(rows), name=names, value=values)
    write_tables(folder, [*recordings.tables().values(), counters])
    Meta(program="a.py").write(folder)
    return folder


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many descriptors each connection that is made may read."""
    made: list[int] = []
    connect = engine.connect

    def noted(read=(), write=None):  # type: ignore[no-untyped-def]
        made.append(len(read))
        return connect(read, write)

    monkeypatch.setattr(engine, "connect", noted)
    monkeypatch.setattr(engine, "_kept", [])
    return made


def test_one_connection_loads_the_tables_of_all_recordings(tmp_path: Path, connections: list[int]) -> None:
    folders = [written(tmp_path / f"{first}.sonde", first) for first in (100, 200)]
    connections.clear()  # those that wrote
    for _ in range(2):
        for first, folder in zip((100, 200), folders, strict=True):
            recording = open_recording(folder)
            assert sum(len(table) for table in recording.tables()) > ROWS
            assert recording.table("counters").array("value").tolist() == list(range(first, first + ROWS))
    assert connections == [engine.SLOTS]
    assert [os.fstat(slot).st_size for slot in engine._kept[-1].slots.numbers] == [0] * engine.SLOTS


def test_a_damaged_table_spoils_no_other(tmp_path: Path, connections: list[int]) -> None:
    good, bad = written(tmp_path / "good.sonde", 1), written(tmp_path / "bad.sonde", 2)
    file = next((bad / "counters").iterdir())
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    with pytest.raises(InputError, match="table counters"):
        reader.load_table(Folder(bad), "counters")
    assert len(open_recording(good).table("counters")) == ROWS


def test_the_connection_that_is_kept_reads_no_other_file(tmp_path: Path, connections: list[int]) -> None:
    import duckdb

    folder = written(tmp_path / "a.sonde", 1)
    open_recording(folder).table("counters")
    (file,) = (folder / "counters").iterdir()
    with file.open("rb") as stream:
        for path in (str(file), f"/proc/self/fd/{stream.fileno()}"):
            with pytest.raises(duckdb.PermissionException):
                engine._kept[-1].connection.read_parquet(path).fetchall()


@pytest.mark.parametrize("limit", ["SLOTS", "KEPT_BYTES"])
def test_many_and_large_files_have_a_connection_of_their_own(
    tmp_path: Path, connections: list[int], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    folder = written(tmp_path / "a.sonde", 1)
    monkeypatch.setattr(engine, limit, 0)
    connections.clear()
    assert len(open_recording(folder).table("counters")) == ROWS
    assert connections == [1, 1]  # one more for what `process` refers to
    assert engine._kept == []


def test_a_forked_process_loads_tables_too(tmp_path: Path, connections: list[int]) -> None:
    folder = written(tmp_path / "a.sonde", 1)
    open_recording(folder).table("counters")
    child = os.fork()
    if child == 0:
        try:
            os._exit(len(open_recording(folder).table("counters")))
        finally:
            os._exit(255)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == ROWS
    assert len(open_recording(folder).table("counters")) == ROWS


def test_text_is_the_same_whoever_numbers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = Folder(written(tmp_path / "a.sonde", 1))
    in_python = reader.load_table(files, "counters").text("name")
    monkeypatch.setattr(reader, "FEW_ROWS", 0)
    in_duckdb = reader.load_table(files, "counters").text("name")
    assert in_python.values == in_duckdb.values == sorted(in_python.values)
    assert in_python.codes.tolist() == in_duckdb.codes.tolist()
    assert -1 in in_python.codes


def test_slots_hold_a_whole_file_from_wherever_it_was_read_last(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(3_000_000))
    slots = Slots(2)
    with path.open("rb") as stream:
        stream.seek(1000)
        with slots.holding([stream.fileno()]) as (slot,):
            assert os.pread(slot, 4_000_000, 0) == path.read_bytes()
    assert os.fstat(slot).st_size == 0
    slots.close()
