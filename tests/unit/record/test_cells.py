"""Cells of a notebook have their source in the recording, though they are no files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from sonde import rawfolder
from sonde.record.inside import cells
from sonde.record.outside.finalise import _texts
from sonde.record.outside.sources import source_table
from sonde.store import build
from sonde.store.meta import Meta

NAME, OTHER = "/tmp/ipykernel_7/3340562541.py", "/home/me/train.py"
LINES = ["def step():\n", "    return 1\n"]
CACHE = {
    OTHER: (3, 5.0, ["x\n"], OTHER),  # a file
    "<string>": (3, None, ["x\n"], "<string>"),
    NAME: (20, None, LINES, NAME),
    "/tmp/ipykernel_7/9.py": (lambda: "",),  # not loaded
}


def test_only_cells_are_taken_and_the_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cells.cells(CACHE) == {NAME: "".join(LINES)}
    monkeypatch.setattr(cells, "MOST_BYTES", 30)
    newer = NAME.replace("334", "335")
    assert set(cells.cells({**CACHE, newer: (20, None, LINES, newer)})) == {newer}


@pytest.mark.parametrize("kept", [True, False])
def test_a_cell_gets_from_the_program_to_the_table_unless_source_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    raw = tmp_path / rawfolder.FOLDER
    raw.mkdir()
    monkeypatch.setenv(cells.OPTIONS_VARIABLE, json.dumps({"folder": str(tmp_path), "source": kept}))
    monkeypatch.setattr(sys.modules["linecache"], "cache", CACHE)
    cells._write()
    path = Path(rawfolder.CELLS.path(str(raw), os.getpid()))
    assert path.exists() is kept
    (raw / "1.cells.json").write_text("[]")  # of a program that writes what it likes
    frames = build.table("frames", frame=[0, 1], file=[NAME, OTHER])
    table = source_table({"frames": frames}, Meta(directory=str(tmp_path)), _texts(raw))
    assert table.text("text").tolist() == (["".join(LINES)] if kept else [])
