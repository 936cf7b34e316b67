"""Jobs that hang, planted: the verdict names the rank, the place and the cause, in seconds, and nothing is killed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonde.native import agent_path
from tests.ranks.jobs import environment

pytestmark = [
    pytest.mark.serial,  # ten seconds from the command to the answer
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
]

PROGRAM = Path(__file__).with_name("hangs.py")
LONGEST_S = 10.0
# What the verdict must be, and what its sentence must say.
RECORDED = {
    "never_entered": (
        "absent",
        ("rank 1 never entered all_reduce #4 of group 0", "wait_for_ever()", "rank 0 waits"),
    ),
    "other_kind": ("mismatch", ("#4 of group 0", "reduce of 4 bytes", "all_gather of 4 bytes")),
    "dead_rank": ("dead", ("rank 1 is gone", "rank 0 is at hangs.py", "dead_rank()")),
    "stopped": ("stopped", ("rank 1 is stopped by a signal", "never entered all_reduce #4")),
    "starving_loader": ("loader", ("rank 1 waits for its data loader", "Slow.__getitem__()")),
    "order_of_groups": ("order", ("(one)", "(two)", "different order")),
    "python_lock": ("absent", ("rank 1 never entered", "python_lock()", "a Python lock")),
    "nothing_sent": ("absent", ("rank 1 never sent what rank 0 waits for", "wait_for_ever()")),
}
PLAIN = {
    "never_entered": ("absent", ("rank 1 is not in all_reduce(), where rank 0 waits", "wait_for_ever()")),
    "stopped": ("stopped", ("rank 1 is stopped by a signal", "stopped()")),
}


class Job:
    """Ranks that hang, until the test is over."""

    def __init__(self, folder: Path, kinds: list[str], recorded: bool) -> None:
        self.folder = folder
        sonde = [sys.executable, "-m", "sonde", "run", "--quiet", "-o", str(folder / "job.sonde")]
        command = [*(sonde if recorded else [sys.executable]), str(PROGRAM), str(folder), *kinds]
        self.process = subprocess.Popen(
            command,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + 120
        wanted = [folder / f"{kind}.{rank}" for kind in kinds for rank in (0, 1)]
        while not all(p.exists() and p.read_text() for p in wanted):
            assert time.monotonic() < until, "the ranks did not come up"
            assert self.process.poll() is None
            time.sleep(0.2)
        time.sleep(2)  # the ranks are at the planted place, and have been for a moment

    def pids(self, kind: str) -> list[int]:
        return [int((self.folder / f"{kind}.{rank}").read_text()) for rank in (0, 1)]

    def end(self) -> None:
        for signals in (signal.SIGCONT, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, signals)
            except ProcessLookupError:
                break
        self.process.wait(30)


def ask(*words: str) -> tuple[dict[str, Any], float]:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "hang", "--json", *words],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), took


@pytest.fixture(scope="module")
def hung(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    job = Job(tmp_path_factory.mktemp("hang"), list(RECORDED), recorded=True)
    yield job
    job.end()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    job = Job(tmp_path_factory.mktemp("plain"), list(PLAIN), recorded=False)
    yield job
    job.end()


def check(job: Job, kind: str, expected: tuple[str, tuple[str, ...]]) -> None:
    pids = job.pids(kind)
    before = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    found, took = ask(*map(str, pids))
    verdict, words = expected
    assert found["verdict"]["kind"] == verdict, found
    for word in words:
        assert word in found["verdict"]["sentence"], found["verdict"]["sentence"]
    assert [pid for pid in pids if os.path.exists(f"/proc/{pid}")] == before
    assert took < LONGEST_S


@pytest.mark.parametrize("kind", RECORDED)
def test_a_recorded_job_that_hangs(hung: Job, kind: str) -> None:
    check(hung, kind, RECORDED[kind])


@pytest.mark.parametrize("kind", PLAIN)
def test_a_job_without_sonde_is_judged_by_its_stacks(plain: Job, kind: str) -> None:
    # Nothing tells which rank is which process but the order of their ids: rank 0 was started first.
    check(plain, kind, PLAIN[kind])


def test_ranks_are_found_below_their_launcher(hung: Job) -> None:
    found, _ = ask(str(hung.process.pid))
    assert {rank["pid"] for rank in found["ranks"]} >= set(hung.pids("never_entered"))
