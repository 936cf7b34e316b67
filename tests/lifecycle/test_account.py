"""Every process and its CPU time is in the account, and "nothing lost" is said only when that is so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.suites.split import binomial_interval
from tests.lifecycle.commanded import BUSY, quality, query, sonde

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"needs to mount a tmpfs: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def record(tmp_path: Path, text: str, *words: str) -> tuple[Path, subprocess.CompletedProcess[bytes]]:
    """Run a program given as text; its folder and what was printed."""
    script = tmp_path / "prog.py"
    script.write_text(BUSY + text)
    folder = tmp_path / "r.sonde"
    return folder, sonde("run", "-o", folder, *words, script)


def share(folder: Path) -> float:
    """Share of CPU time accounted for, which must be one."""
    found = quality(folder)["cpu_s"]["share"]
    assert 0 <= found <= 1.005
    return float(found)


FORKS = """
for _ in range(300):
    if os.fork() == 0:
        spin(0.002); os._exit(0)
    os.wait()
"""


def test_all_of_300_short_forks_are_listed_with_their_time(tmp_path: Path) -> None:
    folder, done = record(tmp_path, FORKS)
    assert query(folder, "SELECT count(DISTINCT pid) n FROM processes") == [{"n": 301}]
    cpu = quality(folder)["cpu_s"]
    assert cpu["processes"] == {"all": 301, "unsampled": pytest.approx(300, abs=60), "unknown": 0}
    assert cpu["unsampled"] >= 0.002 * cpu["processes"]["unsampled"]
    assert share(folder) < 0.9
    assert b"nothing lost" not in done.stderr
    assert b"too_short" in done.stderr


KILLED = """
for _ in range(3):
    child = os.fork()
    if child == 0:
        spin(60)
    time.sleep(1.2); os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
"""


def test_killed_children_are_counted_by_who_waited_for_them(tmp_path: Path) -> None:
    folder, done = record(tmp_path, KILLED)
    assert share(folder) > 0.5
    found = quality(folder)
    assert found["lost"]["log_without_end"] == 3
    assert found["cpu_s"]["processes"]["unknown"] == 3
    assert b"nothing lost" not in done.stderr


CHAIN = """
left = int(sys.argv[1]) if len(sys.argv) > 1 else 3
spin(0.4)
command = [sys.executable, __file__, str(left - 1)]
if left and left % 2: os.execv(sys.executable, command)
if left: os.execv("/bin/sh", ["sh", "-c", 'exec "$@"', "sh", *command])  # a helper in between
"""


@pytest.mark.parametrize("main", [True, False])
def test_a_chain_of_programs_in_one_process_is_counted_once(tmp_path: Path, main: bool) -> None:
    text = CHAIN
    if not main:  # the helpers in the middle are not followed in a child
        text = (
            "if len(sys.argv) < 2:\n"
            "    if os.fork() == 0: os.execv(sys.executable, [sys.executable, __file__, '3'])\n"
            "    os.wait(); sys.exit()\n" + CHAIN
        )
    folder, _ = record(tmp_path, text)
    assert share(folder) > 0.97
    cpu = quality(folder)["cpu_s"]
    waited = query(folder, "SELECT value v FROM counters WHERE name = 'waited_cpu_ns'")[0]["v"] / 1e9
    assert cpu["rusage"] == pytest.approx(waited, rel=0.01)
    assert cpu["sampled"] == pytest.approx(waited, rel=0.03)


DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while os.getppid() == int(sys.argv[-1]): time.sleep(0.01)
        DO
        os._exit(0)
    os._exit(0)
os.wait()
"""


def test_a_daemon_is_waited_for(tmp_path: Path) -> None:
    folder, _ = record(tmp_path, DAEMON.replace("DO", "spin(1.5)").replace("int(sys.argv[-1])", "-1"))
    assert quality(folder)["cpu_s"]["sampled"] > 1.4
    assert share(folder) > 0.95
    assert not (folder / "raw").exists()


def test_a_daemon_sees_the_parent_that_it_sees_without_sonde(tmp_path: Path) -> None:
    text = """
if os.fork() == 0:
    me = os.getpid()
    if os.fork() == 0:
        while os.getppid() == me: time.sleep(0.01)
        open("parent", "a").write(f"{os.getppid()} ")
        os._exit(0)
    os._exit(0)
os.wait(); print(os.getppid() == int(os.environ.get("SONDE_AGENT_LAUNCHER", os.getppid())))
while not os.path.exists("parent") or not open("parent").read().endswith(" "): time.sleep(0.01)
"""
    script = tmp_path / "prog.py"
    script.write_text(BUSY + text)
    alone = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, check=True)
    without = (tmp_path / "parent").read_text()
    (tmp_path / "parent").unlink()
    done = sonde("run", "--quiet", "-o", tmp_path / "r.sonde", script, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (alone.stdout, b"")
    assert (tmp_path / "parent").read_text() == without


def test_a_daemon_that_stays_is_named_and_joined_later(tmp_path: Path) -> None:
    stay = 'open("pid", "w").write(str(os.getpid())); spin(0.3); time.sleep(6); spin(0.5)'
    script = tmp_path / "prog.py"
    script.write_text(BUSY + DAEMON.replace("DO", stay).replace("int(sys.argv[-1])", "-1"))
    folder = tmp_path / "r.sonde"
    done = sonde("run", "-o", folder, script, cwd=tmp_path)
    pid = int((tmp_path / "pid").read_text())
    assert done.returncode == 0
    assert f"still running: {pid} (python" in done.stderr.decode()
    assert b"nothing lost" not in done.stderr
    before = quality(folder)
    assert before["lost"]["still_running"] == 1
    end = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.1)
    recovered = sonde("recover", folder)
    assert recovered.returncode == 0, recovered.stderr
    after = quality(folder)
    assert "still_running" not in after["lost"]
    assert after["cpu_s"]["sampled"] > before["cpu_s"]["sampled"] + 0.4
    assert share(folder) > 0.95
    assert query(folder, "SELECT exit_code c FROM processes WHERE process = 0") == [{"c": 0}]


def test_a_full_disk_is_said_and_what_is_missing_is_counted(small_disk: Path, tmp_path: Path) -> None:
    """The disk is full for the middle of the run, then there is room again."""
    text = f"""
full = {str(small_disk / "ballast")!r}
spin(1.2)
with open(full, "wb", 0) as ballast:
    try:
        while True: ballast.write(b"x" * 4096)
    except OSError: pass
spin(2.0)
os.unlink(full)
spin(1.0)
sys.exit(5)
"""
    script = tmp_path / "prog.py"
    script.write_text(BUSY + text)
    folder = small_disk / "r.sonde"
    done = sonde("run", "-o", folder, script)
    assert done.returncode == 5
    assert b"nothing lost" not in done.stderr
    found = quality(folder)
    assert found["cpu_s"]["share"] < 0.9
    assert found["lost"]["cpu_ms_missing"] == pytest.approx(
        1e3 * (found["cpu_s"]["rusage"] - found["cpu_s"]["sampled"]), abs=20
    )
    assert found["cpu_s"]["missing"] * 1e3 == pytest.approx(found["lost"]["cpu_ms_missing"], abs=1)


def test_a_disk_that_stays_full_leaves_the_exit_code_and_one_line(small_disk: Path, tmp_path: Path) -> None:
    script = tmp_path / "prog.py"
    fill = f"""
try:
    with open({str(small_disk / "ballast")!r}, "wb") as ballast:
        while True: ballast.write(b"x" * 512); ballast.flush()
except OSError: pass
spin(0.3); print("done"); sys.exit(5)
"""
    script.write_text(BUSY + fill)
    folder = small_disk / "r.sonde"
    done = sonde("run", "-o", folder, script)
    assert (done.returncode, done.stdout) == (5, b"done\n")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("sonde: the recording is not finished: ")
    assert line.endswith(f"sonde recover {folder}")
    (small_disk / "ballast").unlink()
    assert sonde("recover", folder).returncode == 0
    assert query(folder, "SELECT exit_code c FROM processes WHERE process = 0") in (
        [{"c": 5}],
        [{"c": -1000}],
    )


def test_a_limit_on_file_sizes_does_not_kill_the_program(tmp_path: Path) -> None:
    import resource

    script = tmp_path / "prog.py"
    script.write_text(BUSY + "spin(1.0); print('done'); sys.exit(4)\n")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    done = sonde("run", "-o", tmp_path / "r.sonde", script, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (4, b"done\n")
    assert b"nothing lost" not in done.stderr
    assert b"sonde: " in done.stderr
    assert b"Traceback" not in done.stderr


IN_FUNCTIONS = """
WITH RECURSIVE up(stack, node) AS (
    SELECT stack, stack FROM stacks
    UNION ALL SELECT up.stack, s.parent FROM up JOIN stacks s ON s.stack = up.node WHERE s.parent >= 0)
SELECT f.name n, sum(p.weight_ns) ns, sum((p.walk != 'residual')::INT) ticks
FROM samples p JOIN (
    SELECT DISTINCT up.stack, f.name FROM up JOIN stacks s ON s.stack = up.node
    JOIN frames f ON f.frame = s.frame WHERE f.name IN ('seventy', 'thirty')) f ON f.stack = p.stack
WHERE p.state != 'waiting' GROUP BY 1
"""
UNSEEN = """
SELECT coalesce(sum(ns), 0) ns FROM (
    SELECT sum(weight_ns) ns FROM samples JOIN threads USING (thread)
    WHERE kind = 'main' AND state != 'waiting' GROUP BY thread HAVING bool_and(walk = 'residual'))
"""


def test_the_work_of_200_short_children_has_its_place(program: Program, tmp_path: Path) -> None:
    """Each child lives for some six ticks, and spends known shares of its life in two functions."""
    folder = tmp_path / "r.sonde"
    done = sonde("run", "--quiet", "-o", folder, "--", program("short_children"), "200", "0.06")
    assert done.returncode == 0
    in_seventy, in_thirty = map(float, done.stdout.split())
    worked = in_seventy + in_thirty
    rows = query(folder, IN_FUNCTIONS)
    found = {row["n"]: row["ns"] / 1e9 for row in rows}
    ticks = sum(row["ticks"] for row in rows)
    assert ticks > 300
    low, high = binomial_interval(ticks, in_seventy / worked, 0.999)
    assert low <= found["seventy"] / sum(found.values()) * ticks <= high
    # On a crowded machine some live without a single tick: what they did, nobody can tell.
    unseen = query(folder, UNSEEN)[0]["ns"] / 1e9
    assert sum(found.values()) == pytest.approx(worked - unseen, rel=0.04)
    assert share(folder) > 0.97


def test_all_places_show_the_same_account(tmp_path: Path) -> None:
    folder, done = record(tmp_path, KILLED)
    cpu = quality(folder)["cpu_s"]
    said = f"{cpu['share']:.1%}".replace("%", " %")
    assert f"{said} of CPU time accounted for" in done.stderr.decode()
    shown = sonde("show", folder, "quality").stdout.decode()
    assert f"({said})" in shown
    assert f"{cpu['missing']:.2f} s missing" in shown or not cpu["missing"]
    losses = sonde("show", folder, "losses").stdout
    assert b"Nothing was lost" not in losses
    assert b"log_without_end" in losses


def test_ctrl_c_ends_the_wait_for_a_daemon(tmp_path: Path) -> None:
    script = tmp_path / "prog.py"
    script.write_text(
        BUSY
        + DAEMON.replace("DO", "spin(20)").replace("int(sys.argv[-1])", "-1")
        + "print('left', flush=True)\n"
    )
    with open(tmp_path / "said", "w+b") as said:  # not a pipe: the daemon would hold it open
        command = [sys.executable, "-m", "sonde", "run", "-o", tmp_path / "r.sonde", script]
        process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
        end = time.monotonic() + 60
        while b"waiting up to" not in (tmp_path / "said").read_bytes() and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(100) == 0
    errors = (tmp_path / "said").read_text()
    assert "left\n" in errors
    (still,) = [line for line in errors.splitlines() if "still running" in line]
    os.kill(int(still.split("still running: ")[1].split()[0]), signal.SIGKILL)


def test_a_program_that_confined_itself_is_not_killed_for_its_account(
    program: Program, tmp_path: Path
) -> None:
    folder = tmp_path / "r.sonde"
    done = sonde("run", "-o", folder, "--", program("confined"))
    assert done.returncode == 6
    assert share(folder) > 0.9
