"""Off-CPU time: sums by the clock, reasons by the system call, stacks without a signal."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sonde.ingest.agent import assemble
from sonde.ingest.agent.log import REASONS, RawLog
from sonde.symbols.resolver import Resolver
from tests.lifecycle.recorded import cpu_s, run, weights_s

pytestmark = pytest.mark.serial

WAITING = """
import os, threading, time
def sleeper():
    for _ in range(20): time.sleep(0.05)
def locker(): lock.acquire()
def reader(): os.read(r, 1)
lock = threading.Lock(); lock.acquire(); r, w = os.pipe()
threads = [threading.Thread(target=f) for f in (sleeper, locker, reader)]
[t.start() for t in threads]
end = time.process_time() + 0.2
while time.process_time() < end: pass
time.sleep(1.0); lock.release(); os.write(w, b"x"); [t.join() for t in threads]
"""


def waits_s(log: RawLog, thread: int) -> dict[str, float]:
    """Seconds by reason."""
    mine = log.waits.thread == thread
    return {
        REASONS[reason]: float(log.waits.weight_ns[mine & (log.waits.reason == reason)].sum()) / 1e9
        for reason in np.unique(log.waits.reason[mine])
    }


def functions(log: RawLog, thread: int) -> set[str | None]:
    leaves = log.waits.python[(log.waits.thread == thread) & (log.waits.python > 0)]
    return {log.codes.name[int(code) - 1] for code in log.python_nodes.code[leaves - 1] if code}


def test_each_wait_has_its_reason_its_place_and_its_time() -> None:
    log = run([sys.executable, "-c", WAITING], rate_hz=200).main()
    names = {1: ("sleep", "sleeper"), 2: ("lock", "locker"), 3: ("io", "reader"), 0: ("sleep", "<module>")}
    for thread, (reason, function) in names.items():
        seconds = waits_s(log, thread)
        assert max(seconds, key=lambda r: seconds[r] if r != "preempted" else 0) == reason
        assert function in functions(log, thread)
    sleeper = waits_s(log, 1)  # on a crowded machine it also waits for the GIL
    assert sleeper["sleep"] > 0.5
    assert sleeper["sleep"] + sleeper.get("lock", 0.0) == pytest.approx(1.1, abs=0.3)
    for row in range(4):  # on and off the CPU together is the thread's whole life
        thread = int(log.threads.number[row])
        life = (log.threads.end_ns[row] - log.threads.start_ns[row]) / 1e9
        off = sum(waits_s(log, thread).values())
        assert off + log.threads.cpu_ns[row] / 1e9 == pytest.approx(life, abs=0.25)
    with_stack = log.waits.native > 0
    assert (log.waits.walk_end[with_stack] == 0).mean() > 0.9


FIGHTING = """
import threading, time
def fight():
    while time.thread_time() < 0.5: pass
threads = [threading.Thread(target=fight) for _ in range(2)]
[t.start() for t in threads]; [t.join() for t in threads]
"""


RARE = """
import threading, time
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
compute(4.3)  # long enough that looks have become rare
for _ in range(2): time.sleep(0.25); compute(4.3)
def last(): lock.acquire(timeout=1.0)
lock = threading.Lock(); lock.acquire(); last(); compute(0.3)
"""


def test_a_wait_that_no_look_saw_is_not_counted_elsewhere() -> None:
    log = run([sys.executable, "-c", RARE], rate_hz=100).main()
    seconds = waits_s(log, 0)
    assert seconds["lock"] == pytest.approx(1.0, abs=0.15)
    others = sum(s for reason, s in seconds.items() if reason not in ("lock", "preempted"))
    # A virtual machine that stands still for a while is time off the CPU that nobody slept.
    assert log.footer is not None
    life = (log.footer.end_ns - log.header.start_ns) / 1e9
    stood = max(0.0, life - cpu_s(log) - 1.5 - seconds.get("preempted", 0.0))
    assert others == pytest.approx(0.5, abs=0.2 + stood)


def test_a_wait_for_the_interpreter_is_no_wait_for_a_lock(tmp_path: Path) -> None:
    log = run([sys.executable, "-c", FIGHTING], rate_hz=200).main()
    samples = assemble([log], Resolver(tmp_path))["samples"]
    asleep = samples.text("state").equals("waiting")
    weight = samples.array("weight_ns")

    def seconds(reason: str, fighters: bool) -> float:
        chosen = asleep & samples.text("reason").equals(reason) & ((samples.array("thread") > 0) == fighters)
        return float(weight[chosen].sum()) / 1e9

    # Each of the two has half a second of CPU time to itself and waits about as long for the other.
    assert seconds("gil", fighters=True) > 0.3
    assert seconds("lock", fighters=True) < 0.2 * seconds("gil", fighters=True)
    assert (
        seconds("lock", fighters=False) > 0.3
    )  # the main thread waits for the threads, not for the interpreter


def test_waits_never_count_as_cpu_time() -> None:
    result = run([sys.executable, "-c", WAITING])
    assert weights_s(result.main()) == pytest.approx(result.cpu_s, rel=0.03)


CROWDED = """
import os, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
neighbour = "import time; end = time.monotonic() + 20\\nwhile time.monotonic() < end: pass"
others = [subprocess.Popen([sys.executable, "-S", "-c", neighbour]) for _ in range(2)]
def delay(): return int(open("/proc/thread-self/schedstat").read().split()[1])
time.sleep(0.5)
before, began = delay(), time.monotonic_ns()
end = time.process_time() + 1.0
while time.process_time() < end: pass
print(began, time.monotonic_ns(), delay() - before)
for other in others: other.kill(); other.wait()
"""


def test_time_taken_away_is_in_small_pieces_and_right_in_sum() -> None:
    result = run([sys.executable, "-c", CROWDED], rate_hz=100)
    began, ended, delay = (int(word) for word in result.output.split())
    log = result.main()
    mine = (log.waits.thread == 0) & (log.waits.time_ns >= began) & (log.waits.time_ns < ended)
    taken = mine & (log.waits.reason == REASONS.index("preempted"))
    weight = log.waits.weight_ns[taken]
    assert delay > 0.5 * (ended - began)  # the neighbours did run
    # By the kernel's own count; a look is a tenth of a second, so the ends may differ by one.
    assert weight.sum() == pytest.approx(delay, abs=0.25e9)
    # No piece lies over work that was done: each fits into the time to the next.
    assert len(weight) >= 8
    assert weight.max() < 0.6e9
    # A thread that only computes does not wait for anything else.
    assert log.waits.weight_ns[mine & ~taken].sum() < 0.1 * delay
