"""Tables written, read, packed and queried are the tables that were made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sonde.columns import Table, Text
from sonde.errors import InputError, UsageError
from sonde.store import build, pack, query
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from sonde.store.schema import TABLES, VERSION
from sonde.store.writer import write_tables
from sonde.views.tabular import made_tables
from tests.unit.store import recordings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a.sonde"
    made.mkdir()
    write_tables(made, recordings.tables().values())
    Meta(program="a.py").write(made)
    return made


def assert_equal(a: Table, b: Table) -> None:
    assert list(a) == list(b)
    for name in a:
        x, y = a.columns[name], b.columns[name]
        if isinstance(x, Text):
            assert isinstance(y, Text)
            assert x.tolist() == y.tolist(), name
        else:
            assert not isinstance(y, Text)
            np.testing.assert_array_equal(x, y, err_msg=name)
            assert x.dtype == y.dtype, name


def answer(recording: Recording, sql: str) -> list[tuple[object, ...]]:
    with query.Session(recording, sql, made_tables()) as session:
        return list(session.ask(sql).rows)


def test_every_table_survives_the_disk(folder: Path) -> None:
    read = open_recording(folder)
    made = recordings.tables()
    for name in TABLES:
        assert_equal(made.get(name, build.empty(name)), read.table(name))


def test_large_tables_are_split_by_process(folder: Path) -> None:
    assert [p.name for p in (folder / "samples").iterdir()] == ["p41-0.parquet"]
    assert [p.name for p in (folder / "frames").iterdir()] == ["all.parquet"]


def test_text_with_every_awkward_character_survives(tmp_path: Path) -> None:
    awkward = ["", "a'b\"c", "</script>", "‮rtl", "tab\tnew\nline", "日本", None, "\u0000zero"]
    table = build.table("losses", cause=awkward, count=list(range(len(awkward))))
    write_tables(tmp_path, [table])
    Meta().write(tmp_path)
    assert open_recording(tmp_path).table("losses").text("cause").tolist() == awkward


def test_packed_and_unpacked_is_the_same(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.sonde.zip"
    assert pack.pack(folder, target) == target.stat().st_size
    read = open_recording(target)
    for name, table in recordings.tables().items():
        assert_equal(table, read.table(name))
    with pytest.raises(UsageError, match="exists"):
        pack.pack(folder, target)


def test_zip_that_climbs_out_is_refused(tmp_path: Path) -> None:
    import zipfile

    evil = tmp_path / "evil.sonde.zip"
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("x/meta.json", "{}")
        archive.writestr("../../outside", "boo")
    with pytest.raises(InputError, match="outside"):
        open_recording(evil)
    assert not (tmp_path.parent / "outside").exists()


@pytest.mark.parametrize("spoil", ["missing", "empty", "file", "no meta", "version", "garbage", "unfinished"])
def test_what_is_not_a_recording_gets_one_clear_error(folder: Path, tmp_path: Path, spoil: str) -> None:
    path, expected = folder, ""
    if spoil == "missing":
        path, expected = tmp_path / "nothing", "does not exist"
    elif spoil == "empty":
        path, expected = tmp_path / "empty", "empty folder"
        path.mkdir()
    elif spoil == "file":
        path, expected = tmp_path / "notes.txt", "not a recording"
        path.write_text("hello")
    elif spoil == "no meta":
        expected = "no meta.json"
        (folder / "meta.json").unlink()
    elif spoil == "version":
        expected = f"version 999; this Sonde reads version {VERSION}"
        data = json.loads((folder / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({**data, "schema_version": 999}))
    elif spoil == "garbage":
        expected = "cannot be read"
        (folder / "meta.json").write_text("{")
    elif spoil == "unfinished":
        expected = "sonde recover"
        Meta(complete=False).write(folder)
    with pytest.raises(InputError) as caught:
        open_recording(path)
    assert expected in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.exit_code == 3


def test_damaged_table_is_named(folder: Path) -> None:
    file = next((folder / "samples").iterdir())
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputError, match="table samples"):
        open_recording(folder).table("samples")


def test_columns_an_older_file_lacks_are_none(folder: Path) -> None:
    import duckdb

    file = folder / "threads" / "all.parquet"
    duckdb.sql(f"COPY (SELECT thread, process, kind FROM '{file}') TO '{folder}/threads/new.parquet'")
    file.unlink()
    data = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({k: v for k, v in data.items() if k != "files"}))
    threads = open_recording(folder).table("threads")
    assert threads.array("tid").tolist() == [-1, -1]
    assert threads.text("name").tolist() == [None, None]
    assert answer(open_recording(folder), "SELECT tid FROM threads") == [(None,)] * 2


@pytest.mark.parametrize("where", ["disk", "memory"])
def test_views_give_the_known_answer(folder: Path, where: str) -> None:
    opened = open_recording(folder) if where == "disk" else recordings.recording()
    hot = answer(opened, "SELECT name, self_ms, total_ms, samples FROM hot_frames")
    assert hot == [("a", 30.0, 30.0, 2), ("[jit] b", 10.0, 10.0, 1), ("main (a.py:3)", 0.0, 40.0, 0)]
    assert answer(opened, "SELECT * FROM hot_lines") == [("a.py", 3, "main", 40.0)]
    ops = answer(opened, "SELECT name, calls, self_ms, total_ms FROM op_summary")
    assert ops == [("aten::linear", 1, 7.0, 10.0), ("aten::addmm", 1, 3.0, 3.0)]
    waits = answer(opened, "SELECT kind, reason, waiting_ms FROM wait_summary")
    assert waits == [("omp", "lock", 5.0)]
    assert answer(opened, "SELECT index, ms FROM step_summary") == [(0, 50.0)]


def test_every_view_runs_on_an_empty_recording() -> None:
    from sonde.store.views import VIEWS

    for name in (*(view.name for view in VIEWS), *made_tables()):
        assert answer(Recording(Meta()), f"SELECT count(*) FROM {name}") == [(0,)], name


def test_wrong_sql_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        answer(recordings.recording(), "SELECT nonsense FROM samples")


def test_schema_documents_every_column() -> None:
    text = query.schema_text(made_tables())
    for spec in TABLES.values():
        assert spec.row_is in text
        for column in spec.columns:
            assert column.comment in text
            assert column.comment
