"""The mapped log: whole lines survive anything, and it never hurts its process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from sonde.record.inside.log import CHUNK_BYTES, MappedLog, read_lines


def test_lines_come_back_in_order_across_chunks(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    log = MappedLog(path)
    lines = [f"line {i} " + "x" * 1000 for i in range(600)]  # more than two chunks
    for line in lines:
        log.write(line)
    log.close()
    assert os.path.getsize(path) == sum(len(line) + 1 for line in lines) > 2 * CHUNK_BYTES
    assert read_lines(path) == lines


def test_a_log_that_was_never_closed_reads_the_same(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    log = MappedLog(path)
    log.write("first")
    log.write("second")
    assert read_lines(path) == ["first", "second"]  # the file still has zero bytes behind
    log.close()


def test_a_cut_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"whole\nhal")
    assert read_lines(str(path)) == ["whole"]


def test_threads_do_not_tear_lines(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    log = MappedLog(path)

    def work(number: int) -> None:
        for i in range(500):
            log.write(f"{number} {i} end")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    found = read_lines(path)
    assert len(found) == 2000
    assert all(line.endswith(" end") for line in found)


def test_lines_after_close_are_counted(tmp_path: Path) -> None:
    log = MappedLog(str(tmp_path / "log"))
    log.close()
    log.write("late")
    assert log.lost == 1


def test_a_full_disk_ends_the_log_not_the_program(tmp_path: Path, monkeypatch: object) -> None:
    log = MappedLog(str(tmp_path / "log"))
    log.write("kept")
    original = os.posix_fallocate
    try:
        os.posix_fallocate = _refuse  # type: ignore[assignment]
        log.write("x" * CHUNK_BYTES)
    finally:
        os.posix_fallocate = original
    assert log.lost == 1
    log.close()
    assert read_lines(log.path) == ["kept"]


def _refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")
