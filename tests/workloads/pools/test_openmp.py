"""A pool worker's sample goes on into the stack of the thread that opened the region, in every runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sonde.ingest.agent import log as raw
from sonde.ingest.agent.decode import read_raw_log
from sonde.native import agent_path
from tests.environments import file_of

pytestmark = pytest.mark.serial

SOURCE = Path(__file__).parent / "regions.cpp"
BUILDS = {
    "libgomp": ["g++", "-fopenmp"],
    "libomp": ["clang++", "-fopenmp=libomp"],
    # Code that Clang made for libomp, run by Intel's runtime: the two share one interface.
    "libiomp5": ["clang++", "-fopenmp=libomp"],
}
RUNNING, SPINNING, IMBALANCE = (raw.STATES.index(s) for s in ("running", "spinning", "imbalance"))


@dataclass(frozen=True)
class Seen:
    """One sample of the program with the names of its functions."""

    thread: int
    state: int
    owner: int
    whole: bool  # both walks reached a root, and the anchor was passed where there was one
    own: list[str]
    owners: list[str]


def build(runtime: str, folder: Path) -> Path:
    compiler, *flags = BUILDS[runtime]
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} to compile with")
    program = folder / "regions"
    command = [compiler, "-O2", *flags, "-rdynamic", "-o", str(program), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{compiler} has no OpenMP here: {done.stderr.strip().splitlines()[-1]}")
    return program


def environment(runtime: str, folder: Path) -> dict[str, str]:
    (folder / "raw").mkdir()
    preload = str(agent_path())
    if runtime == "libiomp5":
        # Its own name first: the loader then takes it for the libomp.so.5 that the program asks for.
        shutil.copy(file_of("openmp", "lib/libiomp5.so"), folder / "libomp.so.5")
    return {
        **os.environ,
        "LD_PRELOAD": preload,
        "LD_LIBRARY_PATH": str(folder),
        "SONDE_AGENT_FOLDER": str(folder),
        "SONDE_AGENT_RATE": "1000",
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "active",
        "OMP_DYNAMIC": "false",
    }


def functions(program: Path) -> list[tuple[int, int, str]]:
    table = subprocess.run(
        ["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in table.stdout.splitlines()]
    return sorted((int(r[0], 16), int(r[1], 16), r[3]) for r in rows if len(r) == 4 and r[2] in "tTW")


def name_of(pc: int, program: Path, log: raw.RawLog, table: list[tuple[int, int, str]]) -> str:
    maps = log.mappings
    for i in np.nonzero((maps.start <= pc) & (pc < maps.end))[0]:
        path = str(maps.path[i])
        if path != str(program):
            return Path(path).name
        address = pc - int(maps.start[i]) + int(maps.offset[i])
        for low, size, name in table:
            if low <= address < low + size:
                return name
    return "?"


def stack(node: int, log: raw.RawLog, name: dict[int, str]) -> list[str]:
    names = []
    while node > 0:
        names.append(name[int(log.nodes.pc[node - 1])])
        node = int(log.nodes.parent[node - 1])
    return names


def record(runtime: str, folder: Path, *arguments: str) -> list[Seen]:
    program = build(runtime, folder)
    variables = environment(runtime, folder)
    plain = {k: v for k, v in variables.items() if k != "LD_PRELOAD"}
    expected = subprocess.run(
        [program, "0.01", *arguments], env=plain, capture_output=True, text=True, check=True
    ).stdout
    done = subprocess.run(
        [program, "0.6", *arguments], env=variables, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == expected, "an argument of a region did not arrive"
    log = read_raw_log(max((folder / "raw").glob("*.slog"), key=lambda p: p.stat().st_size))
    bias = link_bias(program)
    table = [(low - bias, size, name) for low, size, name in functions(program)]
    name = {int(pc): name_of(int(pc), program, log, table) for pc in np.unique(log.nodes.pc)}
    samples = log.samples
    return [
        Seen(
            thread=int(samples.thread[i]),
            state=int(samples.state[i]),
            owner=int(samples.owner[i]),
            whole=samples.walk_end[i] == 0 and samples.owner_walk_end[i] == 0 and samples.anchor[i] != 1,
            own=stack(int(samples.native[i]), log, name),
            owners=stack(int(samples.owner_native[i]), log, name),
        )
        for i in range(len(samples.thread))
        if samples.walk_end[i] != raw.WALK_RESIDUAL
    ]


def link_bias(program: Path) -> int:
    """Virtual address minus file offset of the program's code."""
    headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    for line in headers.splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"] and "R E" in line:
            return int(fields[2], 16) - int(fields[1], 16)
    raise LookupError(f"{program} has no executable segment")


@pytest.mark.parametrize("runtime", BUILDS)
def test_workers_are_rooted_under_the_opener(runtime: str, tmp_path: Path) -> None:
    seen = record(runtime, tmp_path)
    # Before main the loader's own entry has no unwind rules: a sample there ends in it.
    assert all(s.whole for s in seen if not s.own[-1:] or not s.own[-1].startswith("ld-linux"))
    opener = next(s.thread for s in seen if "main" in s.own)
    working = [s for s in seen if s.thread != opener and s.own and "work" in s.own]
    assert len(working) > 100
    # Every sample of a worker inside the work knows its opener, and the opener's frames say which region.
    assert all(s.owner == opener for s in working)
    assert all({"balanced", "uneven", "nested"} & set(s.owners) and "main" in s.owners for s in working)
    assert all(s.state == RUNNING for s in working)
    for region in ("balanced", "uneven", "nested"):
        assert sum(region in s.owners for s in working) > 5, region


@pytest.mark.parametrize("runtime", BUILDS)
def test_a_nested_worker_has_every_owner_in_order(runtime: str, tmp_path: Path) -> None:
    seen = record(runtime, tmp_path, "chain")
    first = next(s.thread for s in seen if "main" in s.own)
    working = [s for s in seen if "work" in s.own and "inner" not in s.own]
    # Two threads open inner regions: the first, and a worker of the outer region, whose own owner is the first.
    by_first = [s for s in working if s.owner == first]
    by_worker = [s for s in working if s.owner not in (first, -1)]
    assert len(by_first) > 20
    assert len(by_worker) > 20
    assert len(by_first) + len(by_worker) == len(working)
    for s in working:
        assert s.whole
        assert s.owners.index("inner") < s.owners.index("outer") < s.owners.index("main")
    # The opener inside the outer region: its own frames down to inner, then the first thread's.
    openers = [s for s in seen if "inner" in s.own and s.thread != first]
    assert openers
    assert all(s.owner == first and "outer" in s.owners for s in openers)


def test_waiting_is_told_apart(tmp_path: Path) -> None:
    seen = record("libgomp", tmp_path)
    opener = next(s.thread for s in seen if "main" in s.own)
    waiting = [
        s for s in seen if s.thread != opener and "work" not in s.own and s.own[0].startswith("libgomp")
    ]
    imbalance = [s for s in waiting if s.state == IMBALANCE]
    spinning = [s for s in waiting if s.state == SPINNING]
    assert len(imbalance) + len(spinning) == len(waiting)
    # At the end of the uneven region the worker waits for the opener; while the opener is alone it spins.
    at_end = [s for s in imbalance if s.owners]
    assert at_end
    assert sum("uneven" in s.owners for s in at_end) > 0.7 * len(at_end)
    assert spinning
    assert all(not s.owners for s in spinning)
    alone = [s for s in seen if s.thread == opener and "alone" in s.own]
    assert all(s.state == RUNNING and s.owner < 0 for s in alone)
