"""Recordings and packed files that someone made to do harm are refused in one line, and do none."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.errors import InputError
from sonde.store import pack
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.schema import TABLES
from sonde.store.writer import write_tables
from tests.unit.store import recordings

# Python's repr of this name ends the list in which it used to stand, and begins another statement.
GIFT = "x\"'], union_by_name=true); COPY (SELECT 1) TO 'owned.csv'; SELECT * FROM read_parquet(['.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a.sonde"
    write_tables(made, recordings.tables().values())
    Meta(program="a.py").write(made)
    return made


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and an empty folder for temporary files: both must stay empty."""
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def left(quiet: Path) -> list[str]:
    return os.listdir(quiet / "work") + os.listdir(quiet / "temporary")


def zipped(folder: Path, target: Path, change: Callable[[zipfile.ZipFile], object]) -> Path:
    pack.pack(folder, target)
    with zipfile.ZipFile(target, "a") as archive:
        change(archive)
    return target


def link(archive: zipfile.ZipFile) -> None:
    member = zipfile.ZipInfo("a.sonde/frames/all2.parquet")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(member, "/etc/passwd")


def repeated(archive: zipfile.ZipFile) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a.sonde/frames/all.parquet", b"twice")


SPOILT: dict[str, tuple[Callable[[zipfile.ZipFile], object], str]] = {
    "statement": (lambda a: a.writestr(f"a.sonde/frames/{GIFT}", b""), "does not belong to a recording"),
    "unknown": (lambda a: a.writestr("a.sonde/run.sh", b""), "does not belong to a recording"),
    "other table": (lambda a: a.writestr("a.sonde/other/all.parquet", b""), "does not belong to a recording"),
    "elsewhere": (lambda a: a.writestr("b.sonde/frames/all.parquet", b""), "does not belong to a recording"),
    "climbs": (lambda a: a.writestr("a.sonde/../../x", b""), "outside"),
    "absolute": (lambda a: a.writestr("/tmp/x", b""), "outside"),
    "bomb": (lambda a: a.writestr("a.sonde/ops/z.parquet", bytes(9_000_000), zipfile.ZIP_DEFLATED), "compressed"),
    "two": (lambda a: a.writestr("b.sonde/meta.json", b"{}"), "2 recordings"),
    "nameless": (lambda a: a.writestr(zipfile.ZipInfo(""), b""), "without a name"),
    "link": (link, "link"),
    "duplicate": (repeated, "two members"),
}  # fmt: skip


@pytest.mark.parametrize("way", SPOILT)
def test_a_packed_recording_with_a_spoilt_member_is_refused(folder: Path, quiet: Path, way: str) -> None:
    change, reason = SPOILT[way]
    gift = zipped(folder, quiet / "gift.sonde.zip", change)
    with pytest.raises(InputError, match=reason):
        open_recording(gift)
    with pytest.raises(InputError, match=reason):
        pack.unpack(gift, quiet / "work")
    assert left(quiet) == []


def test_more_bytes_declared_than_the_file_has_is_refused(folder: Path, quiet: Path) -> None:
    gift = quiet / "gift.sonde.zip"
    pack.pack(folder, gift)
    with zipfile.ZipFile(gift) as archive:
        size = archive.getinfo("a.sonde/meta.json").file_size
    declared = size.to_bytes(4, "little")
    data = gift.read_bytes()
    at = data.index(b"PK\x01\x02")
    directory = data[at:].replace(declared * 2, (1 << 30).to_bytes(4, "little") * 2)
    assert directory != data[at:]
    gift.write_bytes(data[:at] + directory)
    with pytest.raises(InputError, match="more than the file has"):
        open_recording(gift)


def test_every_cut_and_every_flipped_byte_of_a_packed_file_is_one_error(folder: Path, quiet: Path) -> None:
    """All that a reader may raise for a damaged zip is InputError; it may also open what is still whole."""
    whole = quiet / "whole.sonde.zip"
    pack.pack(folder, whole)
    data = whole.read_bytes()
    spoilt = quiet / "spoilt.sonde.zip"
    step = max(1, len(data) // 60)
    variants = [data[:n] for n in range(0, len(data), step)]
    variants += [data[:n] + bytes([data[n] ^ 0xFF]) + data[n + 1 :] for n in range(0, len(data), step)]
    refused = 0
    for variant in variants:
        spoilt.write_bytes(variant)
        try:
            recording = open_recording(spoilt)
            for name in ("frames", "samples"):
                recording.table(name)
        except InputError:
            refused += 1
    assert refused > len(variants) / 2
    assert left(quiet) == []


def test_an_opened_packed_file_leaves_nothing_even_when_killed(folder: Path, quiet: Path) -> None:
    gift = quiet / "gift.sonde.zip"
    pack.pack(folder, gift)
    program = (
        "import os, signal, sys; from pathlib import Path; from sonde.store.reader import open_recording\n"
        "print(len(open_recording(Path(sys.argv[1])).table('frames')), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "TMPDIR": str(quiet / "temporary")}
    done = subprocess.run(
        [sys.executable, "-c", program, gift], env=environment, capture_output=True, check=False
    )
    assert done.stdout == b"3\n"
    assert done.returncode == -9
    assert left(quiet) == []


def test_a_file_name_is_never_a_statement(folder: Path, quiet: Path) -> None:
    (folder / "frames" / "all.parquet").rename(folder / "frames" / GIFT.replace("/", ""))
    with pytest.raises(InputError, match="does not belong to a recording"):
        open_recording(folder)
    assert left(quiet) == []


@pytest.mark.parametrize("name", ["a'b\"c\\.sonde", "a*[1]?{x}.sonde", "a\nb.sonde", b"\xff\xe9.sonde"])
def test_a_recording_may_have_any_name(folder: Path, name: str | bytes) -> None:
    other = Path(os.fsdecode(os.fsencode(folder.parent) + b"/" + os.fsencode(name)))
    folder.rename(other)
    assert len(open_recording(other).table("frames")) == 3
    write_tables(other, open_recording(other).tables())
    assert len(open_recording(other).table("frames")) == 3
    assert pack.pack(other, folder.parent / "b.sonde.zip") > 1000
    assert len(open_recording(folder.parent / "b.sonde.zip").table("frames")) == 3


@pytest.mark.parametrize("what", ["meta.json", "frames/all.parquet", "frames", "dangling", "fifo", "device"])
def test_links_and_devices_in_a_recording_are_refused(folder: Path, tmp_path: Path, what: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    if what in ("dangling", "fifo", "device"):
        target = folder / "frames" / "all.parquet"
        target.unlink()
        if what == "fifo":
            os.mkfifo(target)
        else:
            target.symlink_to("/dev/zero" if what == "device" else tmp_path / "nothing")
    else:
        target = folder / what
        target.rename(elsewhere)
        target.symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"link|regular"):
        open_recording(folder).table("frames")
    with pytest.raises(InputError, match=r"link|regular"):
        pack.pack(folder, tmp_path / "a.sonde.zip")
    assert not list(tmp_path.glob("*.zip*"))


def test_packing_takes_the_recordings_own_files_only(folder: Path, tmp_path: Path) -> None:
    (folder / "id_rsa").symlink_to("/etc/passwd")
    (folder / "notes.txt").write_text("mine")
    pack.pack(folder, tmp_path / "a.sonde.zip")
    with zipfile.ZipFile(tmp_path / "a.sonde.zip") as archive:
        assert {name.split("/")[1] for name in archive.namelist()} <= {"meta.json", *TABLES}


def test_only_the_owner_may_open_what_is_written(folder: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        fresh = tmp_path / "fresh.sonde"
        write_tables(fresh, recordings.tables().values())
        Meta().write(fresh)
        pack.pack(fresh, tmp_path / "fresh.sonde.zip")
        unpacked = pack.unpack(tmp_path / "fresh.sonde.zip", tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fresh.sonde.zip").stat().st_mode) == 0o600
    for top in (fresh, unpacked):
        for path in (top, *top.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_more_rows_than_memory_holds_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.store.reader.room_bytes", lambda: 100)
    with pytest.raises(InputError, match="table samples declares 4 rows"):
        open_recording(folder).table("samples")


def test_tables_are_not_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    """What `sonde recover` would do in a folder that someone prepared."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "all.parquet").write_text("precious")
    shutil.rmtree(folder / "frames")
    (folder / "frames").symlink_to(mine)
    with pytest.raises(InputError, match="link"):
        write_tables(folder, recordings.tables().values())
    assert (mine / "all.parquet").read_text() == "precious"


def test_a_recording_of_many_processes_needs_no_larger_limit(folder: Path) -> None:
    import resource

    one = (folder / "samples" / "p41-0.parquet").read_bytes()
    for number in range(1, 150):
        (folder / "samples" / f"p{number}-{number}.parquet").write_bytes(one)
    Meta.read(folder).write(folder)  # with the checksums of all of them
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, before[1]))
        assert len(open_recording(folder).table("samples")) == 4 * 150
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_are_made_in_one_place() -> None:
    package = Path(pack.__file__).parents[1]
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert [p.name for p, text in texts.items() if "duckdb.connect(" in text] == ["engine.py"]
    assert {p.parent.name for p, text in texts.items() if "import duckdb" in text} == {"store"}
