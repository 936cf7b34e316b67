"""After a gap in the log, and in the next log of the same process, nothing refers to what is not there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.ingest.agent.decode import read_raw_log
from sonde.ingest.agent.log import WALK_RESIDUAL, RawLog
from sonde.record.outside.launch import LaunchOptions, agent_environment
from tests.lifecycle.recorded import cpu_s, losses, run, weights_s

pytestmark = pytest.mark.serial

# Deeper and deeper stacks of different functions: each stretch of the run needs new nodes and codes.
BUSY = """
import glob, os, resource, sys, time
logs = os.environ["SONDE_AGENT_FOLDER"] + "/raw"
def burn(seconds, depth=0):
    if depth: return burn(seconds, depth - 1)
    end = time.process_time() + seconds
    while time.process_time() < end: sorted(range(300), key=lambda x: -x)
def early(): burn(0.6, 3)
def amid():
    for depth in range(10): burn(0.1, depth)
def late():
    for depth in range(10): burn(0.1, depth)
def size(): return max(os.path.getsize(path) for path in glob.glob(logs + "/*.slog"))
"""
LIMITED = """
import threading
early()
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size() + 200, hard))
worker = threading.Thread(target=amid); worker.start(); worker.join()
if FREED:
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    late()
"""


def lost_cpu_s(log: RawLog) -> float:
    found = (re.search(r"stood for ([\d.]+) s", str(text)) for text in log.losses.detail.tolist())
    return sum(float(match[1]) for match in found if match)


def outermost(log: RawLog) -> set[int]:
    """Where the stacks of samples end: addresses of their outermost frames."""
    found = set()
    for i, node in enumerate(log.samples.native.tolist()):
        if not node or log.samples.walk_end[i] != 0:
            continue
        while log.nodes.parent[node - 1]:
            node = int(log.nodes.parent[node - 1])
        found.add(int(log.nodes.pc[node - 1]))
    return found


def functions(log: RawLog) -> set[str]:
    """Python functions of the stacks of samples, all of their frames."""
    names = set()
    for node in log.samples.python.tolist():
        while node:
            code = int(log.python_nodes.code[node - 1])
            names.add(str(log.codes.name[code - 1]) if code else "?")
            node = int(log.python_nodes.parent[node - 1])
    return names


def assert_sound(log: RawLog) -> None:
    assert not {"unknown_stack", "truncated_log", "malformed_record"} & set(losses(log))
    assert "?" not in functions(log)
    assert set(log.samples.thread.tolist()) <= set(log.threads.number.tolist())
    assert len(set(log.threads.number.tolist())) == len(log.threads.number)
    mapped = list(zip(log.mappings.start.tolist(), log.mappings.end.tolist(), strict=True))
    assert len(mapped) == len(set(mapped))  # each once, although it was told twice
    inside = [any(low <= pc < high for low, high in mapped) for pc in outermost(log)]
    assert inside
    assert all(inside)


def test_a_log_that_could_not_be_written_for_a_while_goes_on() -> None:
    result = run([sys.executable, "-c", f"FREED = True\n{BUSY}{LIMITED}"])
    assert (result.code, result.errors) == (0, "")
    log = result.main()
    assert_sound(log)
    assert {"early", "late"} <= functions(log)
    assert losses(log)["log_write_failed"] > 50
    assert 0.3 < lost_cpu_s(log) < 1.9
    assert weights_s(log) + lost_cpu_s(log) == pytest.approx(cpu_s(log), rel=0.01)


def test_what_was_lost_is_known_although_nothing_could_be_written_to_the_end() -> None:
    result = run([sys.executable, "-c", f"FREED = False\n{BUSY}{LIMITED}"])
    assert (result.code, result.errors) == (0, "")
    log = result.main()
    assert_sound(log)
    assert log.footer is None
    assert "early" in functions(log)
    assert lost_cpu_s(log) > 0.9
    assert weights_s(log) + lost_cpu_s(log) == pytest.approx(result.cpu_s, rel=0.03)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sonde-disk-"))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True)
    if mounted.returncode:
        folder.rmdir()
        pytest.skip("no right to mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


FILLED = """
early()
fill = os.environ["SONDE_AGENT_FOLDER"] + "/fill"
def fill_up():
    with open(fill, "ab", buffering=0) as file:
        try:
            while True: file.write(b"x" * 4096)
        except OSError: pass
fill_up()
amid()
os.unlink(fill)
late()
"""


@pytest.mark.parametrize("full_from_the_start", [False, True])
def test_a_full_disk_that_is_freed(small_disk: Path, full_from_the_start: bool) -> None:
    (small_disk / "raw").mkdir()
    if full_from_the_start:
        with (small_disk / "fill").open("wb") as file:
            file.write(b"x" * (240 << 10))
    environment = agent_environment(small_disk, LaunchOptions(rate_hz=1000), os.environ, os.getpid())
    command = [sys.executable, "-c", BUSY + FILLED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = read_raw_log(max((small_disk / "raw").glob("*.slog")))
    assert_sound(log)
    assert "late" in functions(log)
    assert lost_cpu_s(log) > 0.3
    assert weights_s(log) + lost_cpu_s(log) == pytest.approx(cpu_s(log), rel=0.02)


RESUMED = """
early()
path = os.path.join(sys.argv[1], "no-interpreter")
with open(path, "w") as file: file.write("#!/nonexistent/interpreter\\n")
os.chmod(path, 0o755)
os.environ["PATH"] = sys.argv[1]
try: os.execvp("no-interpreter", ["no-interpreter"])
except OSError as error: print(error.errno)
late()
"""


def test_the_log_after_a_failed_exec_stands_on_its_own(tmp_path: Path) -> None:
    result = run([sys.executable, "-c", BUSY + RESUMED, tmp_path])
    assert (result.code, result.output, result.errors) == (0, "2\n", "")
    before, after = sorted(result.logs(), key=lambda log: log.header.start_ns)
    for log in (before, after):
        assert_sound(log)
        assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)
        assert (log.samples.walk_end != WALK_RESIDUAL).sum() > 100
    assert "early" in functions(before)
    assert "late" in functions(after)
    assert weights_s(before) + weights_s(after) == pytest.approx(result.cpu_s, rel=0.02)
    waits_s = float(after.waits.weight_ns.sum()) / 1e9
    assert after.footer is not None
    assert waits_s < (after.footer.end_ns - after.header.start_ns) / 1e9  # none of before the log
