"""`sonde query` reads the recording and nothing else, and always ends with rows or one line."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import InputError, UsageError
from sonde.store import build, pack, query
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from sonde.store.schema import TABLES
from sonde.store.writer import write_tables
from sonde.views.tabular import made_tables
from tests.unit.store import recordings


@pytest.fixture(params=["folder", "memory"])
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Recording:
    if request.param == "memory":
        return recordings.recording()
    folder = tmp_path / "a.sonde"
    write_tables(folder, recordings.tables().values())
    Meta(program="a.py").write(folder)
    return open_recording(folder)


def answer(recording: Recording, sql: str, timeout_s: float | None = None) -> list[tuple[object, ...]]:
    with query.Session(recording, sql, made_tables()) as session:
        return list(session.ask(sql, timeout_s).rows)


REFUSED = [
    "COPY (SELECT 1) TO '{out}/x.csv'",
    "COPY frames TO '{out}/x.parquet' (FORMAT parquet)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}/x.csv'",
    "/* */ EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}/x.csv'",
    "EXPORT DATABASE '{out}/x'",
    "ATTACH '{out}/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{out}/x.duckdb_extension'",
    "SET enable_external_access = true",
    "SET threads = 1",
    "PRAGMA threads = 1",
    "RESET allowed_paths",
    "CREATE TABLE x AS SELECT 1",
    "CREATE PERSISTENT SECRET s (TYPE http)",
    "CALL enable_logging(storage = 'file', storage_config = {{'path': '{out}/log'}})",
    "SELECT * FROM enable_logging(storage = 'file', storage_config = {{'path': '{out}/log'}})",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('{out}/*.parquet')",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM glob('/home/*')",
    "SELECT * FROM glob('/proc/self/fd/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM recording",  # a variable of this very function
    "SELECT 1; COPY (SELECT 1) TO '{out}/x.csv'",
    "SELECT 1; SELECT 2",
    "SELECT",
    "SELECT * FROM nothing",
    "EXPLAIN",
    " ;",
    "",
    "--",
    "\0",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_does_not_read_the_recording_is_refused_in_one_line(
    recording: Recording, tmp_path: Path, sql: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(UsageError) as caught:
        answer(recording, sql.format(out=out))
    assert "\n" not in caught.value.message
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM frames", [(3,)]),
        ("select COUNT(*) from FRAMES;", [(3,)]),
        ('FROM "frames" SELECT count(*)', [(3,)]),
        ("SELECT count(*) FROM query('SELECT * FROM frames')", [(3,)]),
        ("SELECT count(*) FROM query_table('fra' || 'mes')", [(3,)]),
        ("WITH x AS (SELECT thread FROM samples) SELECT count(*) FROM x JOIN threads USING (thread)", [(4,)]),
        ("PIVOT frames ON layer USING count(*)", None),
        ("SELECT sum(python) FROM (PIVOT frames ON layer IN ('python', 'jit') USING count(*))", [(1,)]),
        ("DESCRIBE frames", None),
        ("EXPLAIN SELECT * FROM frames", None),
        ("VALUES (1)", [(1,)]),
        ("SELECT epoch(TIMESTAMPTZ '1970-01-01 00:00:05+00')", [(5.0,)]),
        ("SELECT TIMESTAMPTZ '2026-01-02 03:04:05+00' IS NOT NULL", [(True,)]),
        ("SELECT 'infinity'::TIMESTAMP IS NOT NULL, DATE '290000-01-01'", [(True, "290000-01-01")]),
    ],
)
def test_what_reads_is_answered(
    recording: Recording, sql: str, rows: list[tuple[object, ...]] | None
) -> None:
    found = answer(recording, sql)
    assert found
    assert rows is None or found == rows


def test_a_packed_recording_is_asked_the_same_way(tmp_path: Path) -> None:
    folder = tmp_path / "a.sonde"
    write_tables(folder, recordings.tables().values())
    Meta(program="a.py").write(folder)
    pack.pack(folder, tmp_path / "a.sonde.zip")
    packed = open_recording(tmp_path / "a.sonde.zip")
    assert answer(packed, "SELECT count(*) FROM frames") == [(3,)]
    assert answer(packed, "SELECT name FROM hot_frames")[0] == ("a",)
    with pytest.raises(UsageError, match="disabled"):
        answer(packed, "SELECT * FROM read_csv('/etc/passwd')")


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "a.sonde"
    write_tables(folder, recordings.tables().values())
    Meta().write(folder)
    (folder / "frames" / "all.parquet").write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(InputError, match="table frames") as caught:
        answer(open_recording(folder), "SELECT count(*) FROM frames")
    assert "/proc/" not in caught.value.message
    assert answer(open_recording(folder), "SELECT count(*) FROM threads") == [(2,)]


def test_times_with_a_zone_need_no_other_package(recording: Recording) -> None:
    ((now, nested, one),) = answer(recording, 'SELECT now() AS "a""b", [now()], 1')
    assert str(now).startswith("20")
    assert "20" in str(nested)
    assert one == 1


def test_all_tables_and_views_are_listed(recording: Recording) -> None:
    listed = {row[0] for row in answer(recording, "SHOW TABLES")}
    assert listed == set(TABLES) | {view.name for view in query.VIEWS} | set(made_tables())


def test_only_the_tables_that_are_named_are_opened(recording: Recording) -> None:
    assert query.tables_named("SELECT * FROM Frames f, 'x'") == {"frames"}
    assert query.tables_named("FROM hot_lines") == {"samples", "stacks", "frames"}
    assert query.tables_named("SHOW TABLES") == set(TABLES)
    assert query.tables_named("SELECT 1") == set()


def test_a_query_ends_when_its_time_is_over(recording: Recording) -> None:
    begun = time.monotonic()
    with pytest.raises(UsageError, match="--timeout"):
        answer(recording, "SELECT count(*) FROM range(1000000000000) a", 0.2)
    assert time.monotonic() - begun < 30


def test_rows_come_one_after_the_other(recording: Recording) -> None:
    with query.Session(recording, "") as session:
        rows = session.ask("SELECT * FROM range(1000000000000)").rows
        assert next(rows) == (0,)
        assert next(rows) == (1,)


def test_hot_frames_of_a_deep_recursion_climb_once_per_sampled_stack() -> None:
    """From every node it would be half of the depth squared: 50 million rows here, and 12 s."""
    depth, count = 10_000, 40
    rows = np.arange(depth)
    deep = Recording(
        Meta(),
        {
            "frames": build.table("frames", frame=[0, 1], layer=["python"] * 2, name=["f", "g"], file=["a.py"] * 2),
            "stacks": build.table("stacks", stack=rows, parent=rows - 1, frame=rows % 2, depth=rows + 1),
            "samples": build.table(
                "samples", time_ns=np.arange(count), thread=np.zeros(count), stack=np.full(count, depth - 1),
                state=["running"] * count, weight_ns=np.full(count, 10**6),
            ),
        },
    )  # fmt: skip
    found = answer(deep, "SELECT name, self_ms, total_ms FROM hot_frames")
    assert found == [("g (a.py)", 40.0, 40.0), ("f (a.py)", 0.0, 40.0)]
    assert answer(deep, "SELECT function, total_ms FROM hot_lines ORDER BY 1") == [("f", 40.0), ("g", 40.0)]
    assert answer(deep, "SELECT count(*) FROM sampled_stack_frames") == [(depth,)]
