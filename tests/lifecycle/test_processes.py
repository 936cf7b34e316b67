"""Fork, exec and spawn are followed; every process writes a log of its own; helpers are named."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.ingest.agent.log import WALK_RESIDUAL
from sonde.record.outside.launch import read_unfollowed
from tests.lifecycle.recorded import cpu_s, run, weights_s

pytestmark = pytest.mark.serial

Program = Callable[[str], Path]


def test_forked_and_executed_children_have_logs_that_add_up(program: Program) -> None:
    result = run([program("forks"), "0.2"])
    assert (result.code, result.output, result.errors) == (0, "11\n", "")
    logs = result.logs()
    origins = sorted((log.header.followed_fork, log.header.executed) for log in logs)
    assert origins == [(False, False), (False, True)] + [(True, False)] * 4
    for log in logs:
        assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.01)
        residual = log.samples.weight_ns[log.samples.walk_end == WALK_RESIDUAL].sum()
        assert residual < 0.1 * log.samples.weight_ns.sum()  # parents are sampled on after a fork
    assert sum(map(weights_s, logs)) == pytest.approx(result.cpu_s, rel=0.03)
    parents = {log.header.pid: log.header.parent_pid for log in logs}
    assert parents[result.pid] not in parents
    assert all(parent in parents for pid, parent in parents.items() if pid != result.pid)


def test_a_program_that_replaces_itself_is_counted_once(program: Program) -> None:
    code = "import os, sys, time\nwhile time.process_time() < 0.3: pass\nos.execv(sys.argv[1], sys.argv[1:])"
    result = run([sys.executable, "-c", code, program("split"), "0.4"])
    before, after = sorted(result.logs(), key=lambda log: log.header.start_ns)
    assert before.footer is not None
    assert before.footer.replaced
    assert weights_s(before) == pytest.approx(cpu_s(before), rel=0.01)
    assert weights_s(after) == pytest.approx(cpu_s(after), rel=0.01)
    assert weights_s(before) + weights_s(after) == pytest.approx(result.cpu_s, rel=0.02)


def test_a_failed_exec_changes_nothing(program: Program) -> None:
    code = """
import os, time
for path in ("/nonexistent/program", "/etc/passwd", "/tmp"):
    try: os.execv(path, ["x"])
    except OSError as error: print(error.errno)
while time.process_time() < 0.4: pass
"""
    result = run([sys.executable, "-c", code])
    assert result.output == "2\n13\n13\n"
    assert sum(map(weights_s, result.logs())) == pytest.approx(result.cpu_s, rel=0.02)


PYTHON_CHILDREN = """
import multiprocessing, subprocess, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        worker = multiprocessing.get_context(method).Process(target=burn, args=(0.2,))
        worker.start(); worker.join(); assert worker.exitcode == 0
    loop = "import time\\nwhile time.process_time() < 0.2: pass"
    clean = subprocess.run([sys.executable, "-c", loop], env={})
    shell = subprocess.run("sleep 0; exit 7", shell=True)
    print(clean.returncode, shell.returncode)
"""


def test_python_workers_are_followed_and_helpers_are_named(tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    script.write_text(PYTHON_CHILDREN)
    result = run([sys.executable, script])
    assert (result.code, result.output, result.errors) == (0, "0 7\n", "")
    logs = result.logs()
    busy = [log for log in logs if weights_s(log) > 0.18]
    assert len([log for log in busy if log.header.pid != result.pid]) == 3
    assert [log.header.followed_fork for log in busy].count(True) == 1
    names = {Path(child.program).name for child in read_unfollowed(result.folder)}
    assert names & {"sh", "dash", "bash"}
    assert "sleep" in names


def test_a_process_ends_with_its_last_thread(program: Program) -> None:
    result = run([program("main_leaves")])
    assert (result.code, result.output, result.errors) == (0, "child 0\n", "")
    assert len(result.logs()) == 2
    for log in result.logs():
        assert weights_s(log) == pytest.approx(cpu_s(log), rel=0.02)


FORKS_LATE = """
import multiprocessing, sys, time
from email import message, parser; import asyncio, argparse, json.decoder  # a table of codes to inherit
def burn():
    end = time.process_time() + 0.15
    while time.process_time() < end: pass
if __name__ == "__main__":
    burn()
    worker = multiprocessing.get_context("fork").Process(target=burn); worker.start(); worker.join()
"""


def test_a_forked_worker_logs_only_the_code_it_uses(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    script.write_text(FORKS_LATE)
    logs = {log.header.followed_fork: log for log in run([sys.executable, script], rate_hz=2000).logs()}
    parent, child = logs[False], logs[True]
    used = set(child.python_nodes.code.tolist())
    assert used == set(range(1, len(child.codes.first_line) + 1))  # every one is named, and no other
    assert 0 < len(child.codes.first_line) < len(parent.codes.first_line)
    assert "burn" in child.codes.name.tolist()


def test_a_process_ends_when_its_last_two_threads_end_together(program: Program) -> None:
    result = run([program("end_together"), "400"])
    assert (result.code, result.output, result.errors) == (0, "hung 0\n", "")


def test_forks_at_the_same_time_do_not_disturb_each_other(program: Program) -> None:
    result = run([program("slow_fork")])
    assert (result.code, result.output, result.errors) == (0, "done\n", "")
    assert [cpu_s(log) > 0.18 for log in result.logs() if log.header.followed_fork].count(True) == 1
    assert weights_s(result.main()) == pytest.approx(cpu_s(result.main()), rel=0.02)


def test_a_program_that_counts_its_threads_after_a_fork_counts_its_own(program: Program) -> None:
    binary = program("counts_threads")
    alone = run([binary], agent=False)
    assert [line.split()[0] for line in alone.output.splitlines()] == ["1", "3", "1"]
    result = run([binary])
    assert (result.code, result.output) == (alone.code, alone.output)


WARNS = "import os; child = os.fork(); child or os._exit(7); print(os.waitstatus_to_exitcode(os.wait()[1]))"


def test_python_does_not_warn_of_threads_at_a_fork() -> None:
    """From Python 3.12 on; earlier versions do not look."""
    result = run([sys.executable, "-W", "error", "-c", WARNS])
    assert (result.code, result.output, result.errors) == (0, "7\n", "")
