"""A recording made from inside the program, by `sonde.profile()` without `sonde run`.

It has marks, steps, operators and memory of its blocks; there was no agent, so there are no samples,
and a row of `losses` says so.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path

import sonde
from sonde.record.framework import framework_tables
from sonde.store import build
from sonde.store.meta import Clock, Meta
from sonde.store.writer import write_tables

NO_AGENT = "made by sonde.profile() without `sonde run`: no sampled stacks, no waits, no native frames"


def write_recording(folder: Path, command: list[str], start_ns: int) -> Path:
    """Turn what the observers left in `folder`/raw into the tables of a recording."""
    found = framework_tables(folder / "raw")
    missing = build.table(
        "losses", process=[-1], cause=["no_agent"], count=[1], unit=["processes"], detail=[NO_AGENT]
    )
    tables = dict(found.tables)
    tables["losses"] = build.concat("losses", [tables["losses"], missing])
    write_tables(folder, tables.values())
    now_ns, epoch_ns = time.monotonic_ns(), time.time_ns()
    offset = epoch_ns - now_ns
    Meta(
        sonde_version=sonde.__version__,
        source="profile",
        program=Path(command[-1]).name if command else "",
        command=command,
        directory=str(Path.cwd()),
        started=datetime.fromtimestamp((start_ns + offset) / 1e9, timezone.utc).isoformat(),
        duration_s=(now_ns - start_ns) / 1e9,
        versions=found.versions,
        clock=Clock(offset, offset, 1_000, {"kineto": found.clock_uncertainty_ns}),
    ).write(folder)
    return folder
