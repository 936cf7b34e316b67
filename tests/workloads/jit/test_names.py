"""Generated code gets the name that it had at the time of the sample."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from sonde.ingest.agent import log as raw
from tests.workloads.raw_stacks import python_command, reached_root, run_with_agent

JIT_FLAG = 1


def name_at(log: raw.RawLog, pc: int, time_ns: int) -> tuple[str, str]:
    """(name, source) of the last named record before the moment; a region only where there is none."""
    jit = log.jit
    fits = (jit.start <= pc) & (pc < jit.start + jit.size.astype(np.uint64)) & (jit.time_ns <= time_ns)
    found = sorted(
        (str(jit.source[i]) != "region", int(jit.time_ns[i]), str(jit.name[i]), str(jit.source[i]))
        for i in np.nonzero(fits)[0]
    )
    return found[-1][2:] if found else ("", "")


def test_code_keeps_the_name_of_its_time(tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    script = Path(__file__).parent / "generated.py"
    log = run_with_agent(python_command(script, str(dumps)), tmp_path, 500, {"JITDUMPDIR": str(dumps)})
    names: Counter[str] = Counter()
    order: list[str] = []
    for i in range(len(log.samples.thread)):
        leaf = int(log.samples.native[i])
        if leaf == 0 or not log.nodes.flags[leaf - 1] & JIT_FLAG:
            continue
        assert reached_root(log.samples, i)
        name, source = name_at(log, int(log.nodes.pc[leaf - 1]), int(log.samples.time_ns[i]))
        assert source, "a sample in generated code that nothing names"
        names[name if source != "region" else "region"] += 1
        if name.startswith("kernel_") and name not in order[-1:]:
            order.append(name)
    assert order == ["kernel_one", "kernel_two"]  # by time, although the address is the same
    # 150 ticks each; far fewer would mean that samples went to another name.
    assert all(names[n] > 60 for n in ("kernel_one", "kernel_two", "region")), names
    assert names["kernel from a perf map"] > 60, names
