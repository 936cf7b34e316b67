"""In every family of torch operators nearly all samples reach the root through the anchor, one and two threads."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from sonde.ingest.agent import log as raw
from tests.workloads.raw_stacks import python_command, python_names, reached_root, run_with_agent

PROGRAM = Path(__file__).parent / "programs/families.py"
FLOOR = 0.995  # of the samples of a family; with few samples one failure is allowed
FAMILIES = 22

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch in this environment"),
]


def family_of(log: raw.RawLog, leaf: int, known: dict[int, str]) -> str:
    if leaf not in known:
        names = [n for n in python_names(log, leaf) if n.startswith("family_")]
        known[leaf] = names[0].removeprefix("family_") if names else ""
    return known[leaf]


@pytest.mark.parametrize("threads", ["1", "2"])
def test_samples_reach_the_root(threads: str, tmp_path: Path) -> None:
    variables = {"OMP_NUM_THREADS": threads, "ONEDNN_JIT_PROFILE": "5", "JITDUMPDIR": str(tmp_path)}
    log = run_with_agent(python_command(PROGRAM, "0.3"), tmp_path, 400, variables)
    assert log.header.python_version, "the interpreter was not found"
    samples, known = log.samples, {}
    count: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    owned = 0
    for i in range(len(samples.thread)):
        if samples.walk_end[i] == raw.WALK_RESIDUAL:
            continue
        family = family_of(log, int(samples.python[i]), known)
        if family:
            count[family] += 1
            whole[family] += reached_root(samples, i)
            owned += samples.owner[i] >= 0
    assert len(count) == FAMILIES, count
    short = {f: (whole[f], n) for f, n in count.items() if n - whole[f] > max(1, (1 - FLOOR) * n)}
    assert short == {}
    assert sum(whole.values()) >= FLOOR * sum(count.values())
    assert (owned > 0) == (threads == "2")
