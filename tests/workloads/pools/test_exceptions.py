"""A backward pass that throws leaves nothing behind: later samples have the owner that they should."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sonde.ingest.agent.log import RawLog
from tests.lifecycle.recorded import run, symbol_range

SOURCE = Path(__file__).parent / "engine.cpp"
pytestmark = [pytest.mark.serial, pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")]


def owners_under(log: RawLog, program: Path, function: str) -> list[int]:
    """The owner of every sample whose leaf's stack passes through the function."""
    low, high = symbol_range(program, function)
    found = []
    for node, owner in zip(log.samples.native.tolist(), log.samples.owner.tolist(), strict=True):
        while node and not low <= int(log.nodes.pc[node - 1]) < high:
            node = int(log.nodes.parent[node - 1])
        if node:
            found.append(owner)
    return found


def test_a_worker_has_no_owner_after_a_pass_that_threw(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    library, program = tmp_path / "libengine.so", tmp_path / "engine"
    flags = ["g++", "-O1", "-g", "-std=c++20", "-Wall", "-Wextra", "-pthread", SOURCE]
    subprocess.run([*flags, "-DLIBRARY", "-shared", "-fPIC", "-o", library], check=True)
    subprocess.run([*flags, "-no-pie", "-o", program, library, f"-Wl,-rpath,{tmp_path}"], check=True)
    result = run([program])
    assert (result.code, result.output, result.errors) == (0, "caught 7\n", "")
    log = result.main()
    inside, after = owners_under(log, program, "work_inside"), owners_under(log, program, "work_after")
    assert len(inside) > 30
    assert set(inside) == {0}  # the main thread, which called backward
    assert len(after) > 30
    assert set(after) == {-1}
