"""Recordings of the same program that lie beside one: found by how they were made, and hostile ones passed over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sonde.store.earlier import earlier_alike
from sonde.store.meta import Meta
from sonde.store.reader import open_recording

MADE = Meta(
    program="train.py", command=["python", "train.py"], directory="/w", exit_code=0, machine={"cpu": "x"},
    options={"rate_hz": 100.0}, environment={"OMP_NUM_THREADS": "1"}, versions={"torch": "2"},
)  # fmt: skip


def write(folder: Path, name: str, meta: Meta) -> Path:
    path = folder / name
    path.mkdir()
    meta.write(path)
    return path


def test_what_was_made_the_same_way_is_found_newest_first(tmp_path: Path) -> None:
    mine = open_recording(write(tmp_path, "a.sonde", replace(MADE, started="2026-01-03")))
    write(tmp_path, "b.sonde", replace(MADE, started="2026-01-01"))
    write(tmp_path, "c.sonde", replace(MADE, started="2026-01-02"))
    write(tmp_path, "failed.sonde", replace(MADE, exit_code=1))
    write(tmp_path, "running.sonde", replace(MADE, complete=False))
    write(tmp_path, "other.sonde", replace(MADE, command=["python", "train.py", "--batch", "8"]))
    write(tmp_path, "threads.sonde", replace(MADE, environment={"OMP_NUM_THREADS": "2"}))
    found = earlier_alike(mine, [mine])
    assert [r.path.name for r in found if r.path] == ["c.sonde", "b.sonde"]
    assert len(earlier_alike(mine, [mine], most=1)) == 1
    known = open_recording(tmp_path / "c.sonde")
    assert [r.path.name for r in earlier_alike(mine, [mine, known]) if r.path] == ["b.sonde"]


def test_hostile_neighbours_are_passed_over(tmp_path: Path) -> None:
    mine = open_recording(write(tmp_path, "a.sonde", MADE))
    for name, text in (
        ("x.sonde", "{"),
        ("y.sonde", "[1]"),
        ("z.sonde", '{"format": "sonde-recording", "command": 5}'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.json").write_text(text)
    (tmp_path / "file.sonde").write_text("no folder")
    assert earlier_alike(mine, [mine]) == []
