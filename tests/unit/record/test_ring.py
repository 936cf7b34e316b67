"""Files that turn: a process that writes for ever keeps a bounded number of files, and readers find what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde import rawfolder
from sonde.ingest.observers import events as event_files
from sonde.ingest.observers import marks as mark_files
from sonde.ingest.observers.followed_events import FollowedEvents
from sonde.ingest.observers.followed_marks import FollowedMarks
from sonde.record.inside import events, log
from sonde.record.inside.events import OPTIMIZER, EventLog
from sonde.record.inside.log import MappedLog


@pytest.fixture(autouse=True)
def moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files turn here more than once in a millisecond, which numbers them."""
    now = iter(range(10**6, 10**9, 10**6))
    monkeypatch.setattr("sonde.rawfolder.time.monotonic_ns", lambda: next(now))


def sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.iterdir()]


def test_events_are_kept_in_nine_files_and_followed_across_them(tmp_path: Path) -> None:
    path = tmp_path / "7.events.bin"
    written = EventLog(str(path), part_bytes=events.CHUNK_BYTES)
    write, follower = written.writer(11), FollowedEvents(path)
    seen: list[int] = []
    for number in range(1, 30_001):
        write(OPTIMIZER, number, number + 1, 0, 0)
        if number % 700 == 0:
            seen += follower.poll().start_ns.tolist()
    seen += follower.poll().start_ns.tolist()
    assert seen == list(range(1, 30_001))
    assert len(sizes(tmp_path)) == rawfolder.RING_PARTS + 1
    assert max(sizes(tmp_path)) == events.CHUNK_BYTES
    kept = event_files.read(path).start_ns.tolist()
    assert kept == list(range(kept[0], 30_001))
    assert len(kept) > 8 * 1500
    assert written.lost == 0
    follower.close()


def test_marks_keep_their_first_file_which_says_what_the_process_is(tmp_path: Path) -> None:
    path = tmp_path / "7.marks.jsonl"
    written = MappedLog(str(path), part_bytes=4096)
    follower = FollowedMarks(7, path)
    written.write('{"kind":"process","pid":7,"rank":3}')
    seen: list[int] = []
    for number in range(3000):
        place = f'"number":{number},"start_ns":{number},"end_ns":{number},"tid":1'
        written.write(f'{{"kind":"step","name":"user",{place}}}')
        if number % 100 == 99:
            follower.poll(number - 99)
            seen += [row["number"] for row in follower.marks.marks if row["number"] > number - 100]
    assert sorted(set(seen)) == list(range(3000))
    assert follower.marks.facts["rank"] == 3
    assert len(follower.marks.marks) <= 200
    follower.close()
    written.close()
    assert len(sizes(tmp_path)) == rawfolder.RING_PARTS + 2
    assert sum(sizes(tmp_path)) < (rawfolder.RING_PARTS + 1) * (4096 + 200) + log.CHUNK_BYTES
    found = mark_files.read(rawfolder.File(7, 0, path))
    assert found.facts["rank"] == 3
    assert found.marks[-1]["number"] == 2999
    assert [row["number"] for row in found.marks[-300:]] == list(range(2700, 3000))


def test_a_follower_that_comes_late_knows_what_the_process_is(tmp_path: Path) -> None:
    path = tmp_path / "7.marks.jsonl"
    written = MappedLog(str(path), part_bytes=1000)
    written.write('{"kind":"process","pid":7,"rank":3}')
    for number in range(100):
        written.write(f'{{"kind":"gc","number":{number},"start_ns":{number},"end_ns":{number}}}')
    follower = FollowedMarks(7, path)
    follower.poll(0)
    assert follower.marks.facts["rank"] == 3
    assert follower.marks.marks[-1]["number"] == 99
    follower.close()


def test_where_the_file_cannot_turn_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "7.marks.jsonl"
    written = MappedLog(str(path), part_bytes=1000)

    def refused(*names: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("sonde.rawfolder.os.rename", refused)
    for number in range(100):
        written.write(f"line {number}")
    assert log.read_lines(str(path)) == [f"line {number}" for number in range(100)]
    assert written.lost == 0
