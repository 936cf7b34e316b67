"""No cell of a CSV file is a formula; numbers stay numbers."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

from sonde.cells import safe_cell
from sonde.export.tables import write_csv
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1"),
        ("+1+2", "'+1+2"),
        ("-1+2", "'-1+2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-1.5", "-1.5"),
        ("+3e8", "+3e8"),
        ("-", "'-"),
        ("a=b", "a=b"),
        ("operator+", "operator+"),
        ("", ""),
        (-5, -5),
        (-1.5, -1.5),
        (None, None),
    ],
)
def test_what_begins_a_formula_is_text(value: object, cell: object) -> None:
    assert safe_cell(value) == cell
    assert type(safe_cell(value)) is type(cell)


def test_the_exported_tables_hold_none() -> None:
    names = ["=HYPERLINK(1)", "@x", "plain"]
    frames = build.table("frames", frame=[0, 1, 2], name=names, line=[-1, 5, -7])
    stream = io.BytesIO()
    write_csv(Recording(Meta(), {"frames": frames}), stream)
    with zipfile.ZipFile(stream) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("frames.csv").decode())))
    assert [row["name"] for row in rows] == ["'=HYPERLINK(1)", "'@x", "plain"]
    assert [row["line"] for row in rows] == ["-1", "5", "-7"]
