"""A good guest: the program behaves as without the agent, and is sampled all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lifecycle.recorded import cpu_s, losses, run, share_under, ticks, weights_s

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]


def test_own_use_of_the_shared_signals_is_not_disturbed(program: Program) -> None:
    binary = program("own_signals")
    alone = subprocess.run([binary], capture_output=True, text=True)
    assert "segv handled: 100, mask right: 1" in alone.stdout
    result = run([binary], rate_hz=2000)
    if result.output != alone.stdout:
        # The kernel keeps one pending signal of a number: one raised in the very moment of a tick is one with
        # it (docs/explanation.md). Only the line with a single raise may show that, and not twice.
        assert result.output.splitlines()[:-1] == alone.stdout.splitlines()[:-1]
        result = run([binary], rate_hz=2000)
    assert (result.output, result.errors, result.code) == (alone.stdout, "", 0)
    assert ticks(result.main()) > 200
    assert losses(result.main()) == {}


@pytest.mark.parametrize("how", ["exit3", "_exit4", "segv", "prof", "abort", "killed"])
def test_the_end_is_the_programs_own(program: Program, how: str) -> None:
    alone = subprocess.run([program("dies"), how], capture_output=True, text=True)
    result = run([program("dies"), how])
    assert (result.code, result.output, result.errors) == (alone.returncode, alone.stdout, alone.stderr)
    orderly = how in ("exit3", "_exit4")
    log = result.main()
    assert (log.footer is not None) == orderly
    # Killed without warning: what was drained is there. In its first seconds the drain comes every 0.1 s.
    assert weights_s(log) > (0.145 if orderly else 0.02)


def test_a_thread_that_blocks_all_signals_is_sampled(program: Program) -> None:
    binary = program("blocked_thread")
    result = run([binary, "0.5"])
    share, count = share_under(result.main(), binary, "hidden_work", ["hidden_work"])
    assert share == 1.0
    if result.main().header.engine != "timer":
        assert count > 300


def test_a_program_that_closes_all_descriptors_keeps_its_files(program: Program, tmp_path: Path) -> None:
    target = tmp_path / "own.txt"
    result = run([program("closes_everything"), target], preexec_fn=_few_descriptors)
    assert (result.code, target.read_text()) == (0, "mine\n")
    log = result.main()
    # 0.3 s before the log is closed under the agent, of which the last drain period may be missing.
    assert weights_s(log) > 0.15
    assert log.truncated_bytes == 0


def _few_descriptors() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))


def test_smallest_stacks_are_enough(program: Program) -> None:
    result = run([program("small_stacks"), "16", "0.05"], rate_hz=2000)
    assert result.code == 0
    assert weights_s(result.main()) == pytest.approx(cpu_s(result.main()), rel=0.01)


FAULTHANDLER = """
import ctypes, faulthandler, time
faulthandler.enable()
end = time.process_time() + 0.1
while time.process_time() < end: pass
faulthandler.dump_traceback_later(1000); faulthandler.cancel_dump_traceback_later()
ctypes.string_at(16)
"""


def test_faulthandler_still_reports_and_the_signal_still_kills() -> None:
    alone = subprocess.run([sys.executable, "-c", FAULTHANDLER], capture_output=True, text=True)
    result = run([sys.executable, "-c", FAULTHANDLER])
    assert result.code == alone.returncode == -signal.SIGSEGV
    assert result.errors.splitlines()[0] == "Fatal Python error: Segmentation fault"
    assert [line for line in result.errors.splitlines() if "File" in line] == [
        line for line in alone.stderr.splitlines() if "File" in line
    ]


def test_interrupted_sleeps_and_reads_behave() -> None:
    code = """
import os, select, threading, time
def spin():
    end = time.thread_time() + 0.3
    while time.thread_time() < end: pass
t = threading.Thread(target=spin); t.start()
r, w = os.pipe()
start = time.monotonic(); time.sleep(0.2); assert 0.19 < time.monotonic() - start
assert select.select([r], [], [], 0.1) == ([], [], [])
os.write(w, b"x"); assert os.read(r, 10) == b"x"
t.join(); print("fine")
"""
    result = run([sys.executable, "-c", code], rate_hz=2000)
    assert (result.output, result.code) == ("fine\n", 0)


def test_without_a_folder_the_library_does_nothing(program: Program) -> None:
    from sonde.native import agent_path

    environment = {**os.environ, "LD_PRELOAD": str(agent_path())}
    environment.pop("SONDE_AGENT_FOLDER", None)
    alone = subprocess.run([program("own_signals")], capture_output=True, text=True)
    preloaded = subprocess.run([program("own_signals")], capture_output=True, text=True, env=environment)
    assert (preloaded.stdout, preloaded.stderr) == (alone.stdout, "")


LONG_WRITE = """
import sys
text = sys.stdin.read()
sys.stdout.write(text)  # unbuffered: Python takes a short write for a whole one
"""


def test_a_long_write_to_a_pipe_is_not_cut_short_by_a_tick() -> None:
    code = """
import subprocess, sys
child = [sys.executable, "-u", "-c", sys.argv[1]]
sizes = [len(subprocess.run(child, input=b"a" * (1 << 22), capture_output=True).stdout) for _ in range(3)]
print(sizes)
"""
    result = run([sys.executable, "-c", code, LONG_WRITE], rate_hz=2000)
    assert result.output == f"{[1 << 22] * 3}\n"


def test_an_unwind_entry_that_leads_back_to_itself_ends(program: Program, tmp_path: Path) -> None:
    sound = program("odd_unwind_row").read_bytes()
    length, back = b"\x10\x03\x82" + b"\x80" * 8 + b"\0", b"\x10\x03\xf4" + b"\xff" * 8 + b"\x01"
    assert sound.count(length) == 1
    odd = tmp_path / "odd"
    odd.write_bytes(sound.replace(length, back))
    odd.chmod(0o755)
    result = run(["timeout", "20", odd, "0.3"])
    assert (result.code, result.output, result.errors) == (0, "done\n", "")
    log = next(log for log in result.logs() if weights_s(log) > 0.25)
    assert ticks(log) > 30
    # 5 is bad_rule: every walk from there says so.
    assert (log.samples.walk_end == 5).sum() > 30


LISTS = """
import os, resource, sys, threading, time
def is_open(number):
    try: os.fstat(number)
    except OSError: return False
    return True
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(1000))
def list_after(seconds):
    burn(seconds)
    os.write(1, b"%d\\n" % sum(map(is_open, range(3, 512))))
"""

LISTS_EARLY = f"""{LISTS}
list_after(0)
threads = [threading.Thread(target=list_after, args=(0.1,)) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if os.fork() == 0:
    list_after(0.05)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize(
    ("engine", "rate_hz"), [("timer+kernel", 100), ("perf+kernel", 1000), ("perf+timer", 1000)]
)
def test_a_program_that_lists_its_descriptors_meets_none_of_ours(engine: str, rate_hz: int) -> None:
    """CPython's test_pass_fds_redirected does so in a child. Threads and the child use less CPU time than
    kWithoutDescriptorNs."""
    result = run(
        [sys.executable, "-c", LISTS_EARLY], rate_hz=rate_hz, engine=engine, preexec_fn=_few_descriptors
    )
    assert (result.code, result.output, result.errors) == (0, "0\n" * 5, "")
    assert ticks(result.main()) > 0.2 * rate_hz * 0.3


CLOSED_LATE = f"""{LISTS}
list_after(0.8)
os.closerange(3, 512)
list_after(1.0)
"""


@pytest.mark.parametrize("rate_hz", [100, 1000])
def test_a_program_that_closes_our_descriptor_is_sampled_without(rate_hz: int) -> None:
    result = run([sys.executable, "-c", CLOSED_LATE], rate_hz=rate_hz, preexec_fn=_few_descriptors)
    log = result.main()
    had_one = "1" if log.header.engine != "timer" else "0"
    assert (result.code, result.output.split(), result.errors) == (0, [had_one, "0"], "")
    assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.02)
    if log.header.engine.endswith("+kernel"):
        assert ticks(log) > 0.5 * 1.8 * rate_hz
        assert log.samples.weight_ns.max() < 0.3e9


PERF_CLOSED = """
import os, resource, sys, threading, time
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
started, go = threading.Event(), threading.Event()
def work():
    while time.thread_time() < 0.7: sum(range(1000))  # until it has one
    started.set(); go.wait()
thread = threading.Thread(target=work); thread.start(); started.wait()
os.closerange(3, limit[0] + 16384)
files = [os.open(sys.argv[1], os.O_RDWR) for _ in range(limit[0] - 8)]
go.set(); thread.join()
time.sleep(0.2)
for file in files: os.fstat(file)
print("all there", resource.getrlimit(resource.RLIMIT_NOFILE) == limit)
"""


def test_a_descriptor_that_became_the_programs_is_not_closed(tmp_path: Path) -> None:
    target = tmp_path / "own.txt"
    target.write_text("")
    result = run([sys.executable, "-c", PERF_CLOSED, target], preexec_fn=_few_descriptors)
    assert (result.code, result.output, result.errors) == (0, "all there True\n", "")


def test_the_limit_of_descriptors_stays_the_programs(program: Program) -> None:
    result = run([program("watches_limit"), "3000"], rate_hz=100)
    assert (result.output, result.code) == ("changed 0 times\n", 0)


NAMESPACES = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: sum(range(1000))
def say(what, result): print(what, result, ctypes.get_errno() if result else 0, flush=True)
burn(0.2)
mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY)
say("setns", libc.setns(mounts, 0x20000))
say("unshare", libc.unshare(0x10000000))
say("nonsense", libc.unshare(0x12345))
burn(0.3)
go = threading.Event()
thread = threading.Thread(target=go.wait); thread.start()
say("with a thread of its own", libc.unshare(0x10000000))
go.set(); thread.join()
"""


def test_namespaces_for_one_thread_alone_open_beside_ours() -> None:
    """The kernel refuses a user namespace (setns: also mounts) to a process of more than one thread."""
    plain = subprocess.run([sys.executable, "-c", NAMESPACES], capture_output=True, text=True)
    result = run([sys.executable, "-c", NAMESPACES], rate_hz=1000)
    assert (result.code, result.output, result.errors) == (plain.returncode, plain.stdout, plain.stderr)
    assert sum(weights_s(log) for log in result.logs()) == pytest.approx(result.cpu_s, rel=0.05)
    assert sum(ticks(log) for log in result.logs()) > 250
