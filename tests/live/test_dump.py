"""`sonde dump`: programs that hang in a known way, and what must be printed of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs"
PATIENCE_S = 60.0

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a program, waits until it says that it is ready; ends it afterwards."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(*command: str | Path) -> int:
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def sonde(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonde", *words], capture_output=True, text=True, check=False
    )


def dump(pid: int) -> dict[str, Any]:
    result = sonde("dump", "--json", str(pid))
    assert result.returncode == 0, result.stderr
    process: dict[str, Any] = json.loads(result.stdout)["processes"][0]
    return process


def dump_until(pid: int, settled: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first dump in which the program has got where it hangs: a moment after it says "ready"."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        process = dump(pid)
        if settled(process) or time.monotonic() > deadline:
            return process


def names(thread: dict[str, Any], layer: str | None = None) -> list[str]:
    return [f["name"] for f in thread["frames"] if layer in (None, f["layer"])]


def with_frame(process: dict[str, Any], name: str) -> dict[str, Any]:
    found = [thread for thread in process["threads"] if name in names(thread)]
    assert len(found) == 1, f"{name} is in {len(found)} threads"
    return found[0]


def line_of(program: Path, text: str) -> int:
    return next(n for n, line in enumerate(program.read_text().splitlines(), 1) if text in line)


def test_a_deadlock_of_two_python_locks_shows_both_lines(start: Start) -> None:
    program = PROGRAMS / "python_deadlock.py"
    pid = start(sys.executable, program)

    def hangs(process: dict[str, Any]) -> bool:
        return sum((t["wait"] or {}).get("kind") == "lock" for t in process["threads"]) == 3

    process = dump_until(pid, hangs)
    assert len(process["threads"]) == 3
    for function, wanted in (("takes_first", "second.acquire"), ("takes_second", "first.acquire")):
        thread = with_frame(process, function)
        assert thread["wait"]["kind"] == "lock"
        frame = next(f for f in thread["frames"] if f["name"] == function)
        assert (frame["place"], frame["line"]) == (str(program), line_of(program, wanted))
        # The call of the lock stands below the line that made it, the thread's start above.
        order = names(thread)
        assert order.index("PyThread_acquire_lock_timed") < order.index(function) < len(order) - 1
        assert thread["stop_ms"] == 0  # it waited: there was no need to stop it


def test_a_gil_held_in_c_names_the_holder(start: Start) -> None:
    pid = start(sys.executable, PROGRAMS / "gil_held_in_c.py")

    def hangs(process: dict[str, Any]) -> bool:
        return any((t["wait"] or {}).get("kind") == "gil" for t in process["threads"])

    process = dump_until(pid, hangs)
    holder, waiter = with_frame(process, "holds"), with_frame(process, "works")
    assert holder["holds_gil"]
    assert not waiter["holds_gil"]
    assert (waiter["wait"]["kind"], waiter["wait"]["holder"]) == ("gil", holder["tid"])
    order = names(holder)
    assert order.index("sleep") < order.index("ffi_call") < order.index("holds")


def test_mutexes_of_c_name_their_holders(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "mutex_deadlock"
    subprocess.run(["cc", "-O1", "-pthread", PROGRAMS / "mutex_deadlock.c", "-o", program], check=True)
    pid = start(program)

    def hangs(process: dict[str, Any]) -> bool:
        return all((t["wait"] or {}).get("holder") for t in process["threads"])

    process = dump_until(pid, hangs)
    one, other = with_frame(process, "main"), with_frame(process, "takes_second")
    assert (one["wait"]["holder"], other["wait"]["holder"]) == (other["tid"], one["tid"])
    assert process["python"] is None
    assert one["notes"] == other["notes"] == []


def test_five_hundred_equal_stacks_are_one_and_the_program_goes_on(start: Start) -> None:
    pid = start(sys.executable, PROGRAMS / "many_threads.py")
    dump_until(pid, lambda process: all(t["frames"] for t in process["threads"]))
    used = cpu_ticks(pid)
    process = dump(pid)
    waiting = [t for t in process["threads"] if "Event.wait" in " ".join(names(t))]
    assert (len(process["threads"]), len(waiting)) == (501, 500)
    assert max(t["stop_ms"] for t in process["threads"]) < 20
    assert {t["stop_ms"] for t in waiting} == {0}
    text = sonde("dump", "--python", str(pid)).stdout
    assert text.count("500 threads") == 1
    assert "many_threads.py:" in text
    deadline = time.monotonic() + PATIENCE_S
    while cpu_ticks(pid) <= used and time.monotonic() < deadline:
        time.sleep(0.1)
    assert cpu_ticks(pid) > used
    assert status(pid)["TracerPid"] == "0"


def test_a_stopped_process_is_read_and_stays_stopped(start: Start) -> None:
    pid = start(sys.executable, PROGRAMS / "many_threads.py")
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE_S
    while not status(pid)["State"].startswith("T") and time.monotonic() < deadline:
        time.sleep(0.05)
    process = dump(pid)
    assert {t["state"] for t in process["threads"]} == {"stopped"}
    main = next(t for t in process["threads"] if t["tid"] == pid)
    assert "<module>" in names(main, "python")
    assert "Py_BytesMain" in names(main, "native")
    assert status(pid)["State"].startswith("T")


@pytest.mark.parametrize("pid", ["999999999", "0"])
def test_a_process_that_is_not_there_is_refused_in_one_line(pid: str) -> None:
    result = sonde("dump", pid)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == f"sonde: there is no process {pid} → list processes with ps -e\n"


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
