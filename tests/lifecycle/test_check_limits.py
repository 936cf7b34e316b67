"""`sonde check` inside real control groups, as root and as nobody.

A group with a quota of 1.5 CPUs, one with a cpuset of one CPU, an affinity of
one CPU: the command must see each. Groups are made where root allows it, in
whichever version is mounted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT = os.geteuid() == 0
V1_CPU, V1_CPUSET = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup/cpuset")
V2 = Path("/sys/fs/cgroup")
CPUS = len(os.sched_getaffinity(0))
NOBODY = 65534

needs_root = pytest.mark.skipif(not ROOT, reason="making a control group needs root")
needs_two = pytest.mark.skipif(CPUS < 2, reason="a limit of one CPU shows only on two")


def controls(name: str) -> Path | None:
    """A folder where a group with this controller can be made."""
    v1 = Path("/sys/fs/cgroup") / name
    if (v1 / "cgroup.procs").exists():
        return v1
    listed = V2 / "cgroup.subtree_control"
    return V2 if listed.exists() and name in listed.read_text().split() else None


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A new control group with the controller named by the parameter."""
    base = controls(request.param)
    if base is None:
        pytest.skip(f"no control group file system offers {request.param}")
    folder = base / f"sonde-test-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"the system refuses a control group in {base}: {error}")
    yield folder
    folder.rmdir()


def check(
    group: Path | None = None, uid: int | None = None, prefix: list[str] | None = None
) -> dict[str, Any]:
    """Run the command as a user types it, inside the group."""
    command = [*(prefix or []), sys.executable, "-m", "sonde", "check", "--json"]
    if group is not None:
        enter = f'echo $$ > "{group}/cgroup.procs" && exec "$@"'
        command = ["sh", "-c", enter, "sh", *command]
    if uid is not None:
        # Enter the group as root, then give up every right.
        at = command.index(sys.executable)
        command[at:at] = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", timeout=60)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def users() -> list[Any]:
    return [None, pytest.param(NOBODY, marks=needs_root)]


@pytest.mark.parametrize("uid", users(), ids=["self", "nobody"])
def test_without_a_limit_it_sees_every_cpu(uid: int | None) -> None:
    facts = check(uid=uid)["facts"]
    assert facts["effective_cpus"] == CPUS or facts["cpu_quota"] is not None
    assert facts["permissions"]["root"] is (ROOT and uid is None)


@needs_root
@needs_two
@pytest.mark.parametrize("uid", [None, NOBODY], ids=["root", "nobody"])
@pytest.mark.parametrize("group", ["cpu"], indirect=True)
def test_a_quota_of_one_and_a_half_cpus_is_one_whole_cpu(group: Path, uid: int | None) -> None:
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text("150000 100000")
    else:
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("150000")
    answer = check(group, uid)
    assert answer["facts"]["cpu_quota"] == 1.5
    assert answer["facts"]["effective_cpus"] == 1
    assert answer["findings"][0]["severity"] == "error"
    assert "quota pays for 1.5 CPUs" in answer["findings"][0]["what"]


@needs_root
@needs_two
@pytest.mark.parametrize("uid", [None, NOBODY], ids=["root", "nobody"])
@pytest.mark.parametrize("group", ["cpuset"], indirect=True)
def test_a_cpuset_of_one_cpu(group: Path, uid: int | None) -> None:
    if (group / "cpuset.mems").exists():
        (group / "cpuset.mems").write_text("0")
    (group / "cpuset.cpus").write_text("1")
    facts = check(group, uid)["facts"]
    assert facts["effective_cpus"] == 1
    assert facts["usable_cpus"] == "1"
    assert facts["physical_cores"] == 1


@needs_two
def test_an_affinity_of_one_cpu() -> None:
    facts = check(prefix=["taskset", "-c", "0"])["facts"]
    assert (facts["effective_cpus"], facts["affinity_cpus"]) == (1, "0")


def test_strict_fails_when_something_is_wrong() -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": str(CPUS * 4)}
    command = [sys.executable, "-m", "sonde", "check"]
    strict = subprocess.run([*command, "--strict"], env=environment, capture_output=True, text=True)
    assert strict.returncode == 1
    assert f"OMP_NUM_THREADS={CPUS * 4}" in strict.stdout
    assert subprocess.run(command, env=environment, capture_output=True).returncode == 0
