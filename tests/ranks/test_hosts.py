"""Two hosts: network namespaces of their own, one with a clock 1000 s ahead; their recordings become one job."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.analyze.ranks.job import Job
from sonde.native import agent_path
from sonde.store.reader import open_recording
from tests.ranks.jobs import environment
from tests.ranks.test_recorded_jobs import SLEEPER, planted_line

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"),
        reason="needs root to make namespaces",
    ),
]
AHEAD_S = 1000


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=20)


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a cable between them."""
    names = (f"sonde{os.getpid()}a", f"sonde{os.getpid()}b")
    try:
        for name in names:
            run("ip", "netns", "add", name)
        ends = [f"s{os.getpid() % 100000}{side}" for side in "ab"]
        run("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for at, (name, end) in enumerate(zip(names, ends, strict=True)):
            run("ip", "link", "set", end, "netns", name)
            run("ip", "netns", "exec", name, "ip", "link", "set", end, "name", "cable")
            run("ip", "netns", "exec", name, "ip", "addr", "add", f"10.77.0.{at + 1}/24", "dev", "cable")
            run("ip", "netns", "exec", name, "ip", "link", "set", "cable", "up")
            run("ip", "netns", "exec", name, "ip", "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_two_hosts_whose_clocks_are_1000_s_apart_become_one_job(
    tmp_path: Path, hosts: tuple[str, str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SLEEPER)
    started, said = [], [tmp_path / f"said{rank}.txt" for rank in (0, 1)]
    for rank, name in enumerate(hosts):
        variables = {
            **environment(),
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_RANK": "0",
            "MASTER_ADDR": "10.77.0.1",
            "MASTER_PORT": "29500",
            "GLOO_SOCKET_IFNAME": "cable",
        }
        clock = ["-T", "--monotonic", str(AHEAD_S)] if rank else []
        sonde = f"{sys.executable} -m sonde run --quiet --job j1 {script} {tmp_path}"
        command = ["ip", "netns", "exec", name, "unshare", "--uts", *clock, "--fork", "sh", "-c"]
        with said[rank].open("w") as output:
            started.append(
                subprocess.Popen(
                    [*command, f"hostname node{rank} && exec {sonde}"],
                    env=variables,
                    cwd=tmp_path,
                    stdout=output,
                    stderr=output,
                )
            )
    ended = [one.wait(150) for one in started]
    assert ended == [0, 0], "\n".join(one.read_text()[-2000:] for one in said)
    parts = [tmp_path / f"j1.node{rank}.sonde" for rank in (0, 1)]
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "merge", *map(str, parts), "-o", str(tmp_path / "job.sonde")],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if "too coarse" in done.stderr:  # a busy machine: refusing is the right answer
        assert done.returncode == 3
        return
    assert done.returncode == 0, done.stderr
    recording = open_recording(tmp_path / "job.sonde")
    clocks = recording.meta.details["rank_clocks"]
    assert clocks["uncertainty_ns"] <= 1_000_000
    # The kernel says what the offset is: within what was stated.
    assert abs(clocks["hosts"][1]["offset_ns"] - AHEAD_S * 1e9) <= clocks["uncertainty_ns"]
    job = Job(recording.table)
    assert job.shared.unfinished == 0
    assert (job.shared.transfer_ns >= -clocks["uncertainty_ns"]).all()
    late = job.late
    assert late is not None, job.lateness
    assert (late.rank, late.cause.kind, late.cause.place.line) == (1, "sleep", planted_line(SLEEPER))
