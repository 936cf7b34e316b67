"""A raw log made handy for tests of the agent: run a program with it, walk the stacks it recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sonde.ingest.agent import log as raw
from sonde.ingest.agent.decode import read_raw_log
from sonde.native import agent_path


def run_with_agent(
    command: list[str], folder: Path, rate_hz: int, variables: Mapping[str, str] | None = None
) -> raw.RawLog:
    """Runs the command to its end and reads the biggest log it left (its own; helpers leave small ones)."""
    (folder / "raw").mkdir()
    environment = {
        **os.environ,
        "LD_PRELOAD": str(agent_path()),
        "SONDE_AGENT_FOLDER": str(folder),
        "SONDE_AGENT_RATE": str(rate_hz),
        **(variables or {}),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    return read_raw_log(max((folder / "raw").glob("*.slog"), key=lambda p: p.stat().st_size))


def python_command(script: Path, *arguments: str) -> list[str]:
    return [sys.executable, str(script), *arguments]


def python_names(log: raw.RawLog, leaf: int) -> Iterator[str]:
    """Qualified names of a Python stack, leaf first."""
    while leaf > 0:
        code = int(log.python_nodes.code[leaf - 1])
        yield str(log.codes.name[code - 1]) if code > 0 else "?"
        leaf = int(log.python_nodes.parent[leaf - 1])


def reached_root(samples: raw.RawSamples, i: int) -> bool:
    """Both walks ended at a root, and the anchor was passed where there was one."""
    own = samples.walk_end[i] == 0 and samples.anchor[i] != 1
    return bool(own and (samples.owner[i] < 0 or samples.owner_walk_end[i] == 0))
