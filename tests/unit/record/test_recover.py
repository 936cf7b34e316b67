"""`sonde recover` in a folder that someone else made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sonde.errors import InputError
from sonde.record.outside.finalise import recover
from sonde.store.meta import Meta


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An unfinished recording without a process."""
    made = tmp_path / "gift.sonde"
    (made / "raw").mkdir(parents=True)
    Meta(complete=False).write(made)
    return made


@pytest.mark.parametrize("name", ["raw/1.2.slog", "raw/1.modules.jsonl", "raw/unfollowed.tsv", "meta.json"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_only_regular_files_are_read(folder: Path, tmp_path: Path, name: str, kind: str) -> None:
    planted = folder / name
    planted.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(planted)  # opened like a file, it would be waited for without end
    else:
        (tmp_path / "mine").write_text("secret\n")
        planted.symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match=r"holds a link|not a regular file"):
        recover(folder)


def test_logs_behind_a_link_are_not_read(folder: Path, tmp_path: Path) -> None:
    (folder / "raw").rename(tmp_path / "elsewhere")
    (folder / "raw").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="holds a link"):
        recover(folder)


def test_nothing_is_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("precious")
    (folder / "meta.json.partial").symlink_to(mine)
    assert recover(folder).meta.complete
    assert mine.read_text() == "precious"
    assert not (folder / "meta.json").is_symlink()


def test_a_log_that_cannot_be_read_is_a_loss_even_when_it_is_empty(folder: Path) -> None:
    (folder / "raw" / "1.2.slog").touch()
    losses = recover(folder).table("losses")
    assert losses.text("cause").objects().tolist() == ["log_unreadable"]
    assert losses.array("count").tolist() == [1]
