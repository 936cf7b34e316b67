"""A damaged or hostile recording is refused when it is loaded: flipped bits, links to nowhere, circles."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sonde.columns import Table
from sonde.errors import InputError
from sonde.store import build, links
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.schema import TABLES
from sonde.store.writer import write_tables
from tests.fixtures.synthetic import training_run
from tests.unit.store import recordings


def write(folder: Path, tables: dict[str, Table]) -> Path:
    write_tables(folder, tables.values())
    Meta(program="a.py").write(folder)
    return folder


def without_checksums(folder: Path) -> None:
    data = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**data, "files": {}}))


def load_all(folder: Path) -> None:
    recording = open_recording(folder)
    for name in TABLES:
        recording.table(name)


def test_every_flipped_bit_of_a_table_is_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path, recordings.tables())
    rng = random.Random(1)
    for file in sorted(folder.glob("*/*.parquet")):
        whole = file.read_bytes()
        for _ in range(5):
            at = rng.randrange(len(whole))
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
            with pytest.raises(InputError, match=f"table {file.parent.name} is damaged"):
                open_recording(folder).table(file.parent.name)
        file.write_bytes(whole)
    load_all(folder)


def test_recordings_without_checksums_still_open(tmp_path: Path) -> None:
    folder = write(tmp_path, recordings.tables())
    without_checksums(folder)
    load_all(folder)


def test_files_that_came_or_went_are_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path, recordings.tables())
    file = folder / "frames" / "all.parquet"
    whole = file.read_bytes()
    (folder / "frames" / "more.parquet").write_bytes(whole)
    with pytest.raises(InputError, match=r"more\.parquet was not there"):
        open_recording(folder).table("frames")
    (folder / "frames" / "more.parquet").unlink()
    file.unlink()
    with pytest.raises(InputError, match=r"all\.parquet is missing"):
        open_recording(folder).table("frames")


def change(table: str, column: str, row: int, value: int) -> Callable[[dict[str, Table]], None]:
    def apply(tables: dict[str, Table]) -> None:
        values = tables[table].array(column).copy()
        values[row] = value
        tables[table] = tables[table].with_columns(**{column: values})

    return apply


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            change("samples", "stack", 2, 3),
            "row 2 of table samples is damaged: stack is 3, and the largest of",
        ),
        (change("samples", "stack", 2, 2**31 - 1), "stack is 2147483647"),
        (change("samples", "stack", 0, -2), "stack is -2"),
        (change("marks", "thread", 0, 9), "thread is 9"),
        (change("samples", "op", 1, 2**40), "op is 1099511627776"),
        (change("samples", "step", 1, 5), "step is 5"),
        (change("stacks", "frame", 0, 3), "frame is 3"),
        (change("stacks", "parent", 0, 0), "cycle"),
        (change("stacks", "parent", 0, 2), "cycle"),
        (change("stacks", "depth", 2, 9), "depth 9 is not its caller's"),
        (change("stacks", "stack", 1, 2), "row 1 of table stacks is damaged: stack is 2, not 1"),
        (change("frames", "frame", 0, -1), "frame is -1, not 0"),
        (change("ops", "parent", 0, 1), "cycle"),
        (change("ops", "parent", 1, 7), "parent is 7"),
        (change("ops", "op", 1, 0), "two rows have the same op"),
        (change("ops", "op", 1, 2**62), "op goes from 0 to 4611686018427387904 in 2 rows"),
        (change("threads", "process", 1, 4), "process is 4"),
        (change("marks", "mark", 0, 2**31 - 1), "mark goes from 2147483647 to 2147483647 in 1 rows"),
        (change("marks", "process", 0, 1), "process is 1"),
        (change("losses", "process", 0, -7), "process is -7"),
    ],
)
def test_links_to_nowhere_are_an_error(
    damage: Callable[[dict[str, Table]], None], says: str, tmp_path: Path
) -> None:
    tables = recordings.tables()
    damage(tables)
    folder = write(tmp_path, tables)
    with pytest.raises(InputError, match=says):
        load_all(folder)


def test_a_long_circle_among_good_rows_is_found() -> None:
    count = 10_000
    parent = np.arange(-1, count - 1)
    parent[5000] = 9000
    ops = build.table("ops", op=np.arange(count), thread=np.zeros(count), parent=parent)
    with pytest.raises(InputError, match="cycle"):
        links.check(ops, lambda _: 0)


def test_children_before_parents_are_no_circle() -> None:
    ops = build.table("ops", op=[2, 1, 0], thread=[0, 0, 0], parent=[-1, 2, 1])
    links.check(ops, lambda _: 0)


@pytest.mark.parametrize("kind", ["VARCHAR", "BLOB", "INTEGER[]", "STRUCT(a INTEGER)", "DOUBLE", "HUGEINT"])
def test_columns_of_another_type_are_an_error_or_the_same_numbers(kind: str, tmp_path: Path) -> None:
    import duckdb

    folder = write(tmp_path, recordings.tables())
    without_checksums(folder)
    value = {"VARCHAR": "'x'", "BLOB": "'\\xAA'", "INTEGER[]": "[1]", "STRUCT(a INTEGER)": "{'a': 1}"}
    file = folder / "threads" / "all.parquet"
    duckdb.sql(
        f"COPY (SELECT * REPLACE (({value.get(kind, '1e30')})::{kind} AS tid) FROM '{file}') TO '{tmp_path}/x.parquet'"
    )
    (tmp_path / "x.parquet").replace(file)
    with pytest.raises(InputError, match="table threads"):
        open_recording(folder).table("threads")


def test_a_real_run_passes(tmp_path: Path) -> None:
    run = training_run(3, 50)
    write(tmp_path, {t.name: t for t in run.tables()})
    load_all(tmp_path)


def test_every_identity_and_reference_is_declared() -> None:
    for spec in TABLES.values():
        for target in spec.references.values():
            assert TABLES[target].identity is not None
        known = {t.identity for t in TABLES.values() if t.identity} | {
            "parent",
            "forward_op",
            "owner",
            "step",
        }
        for column in spec.columns:
            refers = column.name in known and column.type != "text"
            assert bool(column.refers) == refers, (spec.name, column.name)
