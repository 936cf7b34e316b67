"""A log that keeps only the last moments: bounded, readable at any time, and its account adds up."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sonde import rawfolder
from sonde.ingest.agent.followed_log import FollowedLog
from tests.lifecycle.recorded import Run, cpu_s, losses, run, ticks, weights_s

SPIN = """
import os, sys, threading, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
if len(sys.argv) > 2 and os.fork() == 0:
    spin(float(sys.argv[2]))
    os._exit(0)
other = threading.Thread(target=spin, args=(float(sys.argv[1]),))
other.start()
spin(float(sys.argv[1]))
other.join()
if len(sys.argv) > 2:
    os.wait()
"""


def spun(tmp_path: Path, *words: str, **variables: str) -> Run:
    script = tmp_path / "spin.py"
    script.write_text(SPIN)
    ring = {f"SONDE_AGENT_RING_{name}": value for name, value in variables.items()}
    return run([sys.executable, script, *words], rate_hz=200, environment=ring)


def names(ran: Run) -> list[str]:
    return sorted(path.name for path in (ran.folder / "raw").glob("*.slog*"))


def test_of_a_long_run_the_end_is_kept_and_its_account_adds_up(tmp_path: Path) -> None:
    ran = spun(tmp_path, "3", S="1", BYTES=str(1 << 20))
    assert ran.code == 0
    assert len(names(ran)) == rawfolder.RING_PARTS + 1
    log = ran.main()
    assert log.cut is not None
    assert log.footer is not None
    kept_s = (log.footer.end_ns - log.cut.from_ns) / 1e9
    assert 1.0 <= kept_s < ran.cpu_s * 0.8
    assert int(log.samples.time_ns.min()) > log.cut.from_ns - 600_000_000
    assert weights_s(log) == pytest.approx(cpu_s(log), abs=0.1)
    assert "truncated_log" not in losses(log)
    # What is said once per process is said in each file: every thread, mapping and name.
    assert len(log.threads.tid) >= 3
    mapped = [i for i in range(len(log.mappings.start)) if "libc.so" in str(log.mappings.path[i])]
    assert mapped
    assert "spin" in {str(name) for name in log.codes.name}
    with_python = (log.samples.python > 0).sum()
    assert with_python > 0.8 * ticks(log)


def test_a_short_run_in_a_ring_is_whole(tmp_path: Path) -> None:
    ran = spun(tmp_path, "0.5", S="60", BYTES=str(1 << 26))
    log = ran.main()
    assert log.cut is None
    assert len(names(ran)) == 1
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.02)


def test_a_forked_child_has_a_ring_of_its_own(tmp_path: Path) -> None:
    ran = spun(tmp_path, "3", "6", S="1", BYTES=str(1 << 20))  # a quiet thread is looked at each half second
    logs = ran.logs()
    assert len(logs) == 2
    assert {log.header.followed_fork for log in logs} == {True, False}
    assert all(log.cut is not None for log in logs)
    assert all("spin" in {str(name) for name in log.codes.name} for log in logs)


def test_little_disk_is_kept_to_even_where_much_happens(tmp_path: Path) -> None:
    ran = spun(tmp_path, "2", S="3600", BYTES=str(64 << 10))
    sizes = [path.stat().st_size for path in (ran.folder / "raw").glob("*.slog*")]
    assert 2 < len(sizes) <= rawfolder.RING_PARTS + 1


def test_a_follower_crosses_files_and_sees_each_sample_once(tmp_path: Path) -> None:
    ran = spun(tmp_path, "0.6", S="60", BYTES=str(1 << 26))
    (whole,) = (ran.folder / "raw").glob("*.slog")
    data = whole.read_bytes()
    folder = tmp_path / "made"
    folder.mkdir()
    path = folder / whole.name
    path.write_bytes(data)
    follower = FollowedLog(path)
    first = follower.poll()
    assert first is not None
    assert follower.poll() is None
    path.rename(f"{path}.1")
    assert follower.poll() is None  # the next file is not there yet
    path.write_bytes(data)
    second = follower.poll()
    assert second is not None
    assert follower.files == 2
    assert np.array_equal(first.samples.time_ns, second.samples.time_ns)
    assert len(second.threads.tid) == len(first.threads.tid)
    follower.close()
