"""A recording made from inside the program, by `sonde.profile()` without `sonde run`.

It has marks, steps, operators and memory of its blocks; there was no agent, so there are no samples,
and a row of `losses` says so.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path

from sonde import rawfolder
from sonde.link import link_recording
from sonde.record.frameworks.collect import framework_tables
from sonde.record.outside.sources import source_table
from sonde.redact import hide_command
from sonde.store import build
from sonde.store.files import make_private
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Clock, Meta
from sonde.store.writer import write_tables
from sonde.version import __version__

NO_AGENT = "made by sonde.profile() without `sonde run`: no sampled stacks, no waits, no native frames"


def write_recording(folder: Path, command: list[str], start_ns: int) -> Path:
    """Turn what the observers left in `folder`/raw into the tables of a recording."""
    found = framework_tables(folder / rawfolder.FOLDER)
    missing = loss_table([Loss(-1, "no_agent", 1, "processes", NO_AGENT)])
    tables = link_recording(found.tables)
    tables["losses"] = build.concat("losses", [tables["losses"], missing])
    shown = hide_command(command)
    now_ns, epoch_ns = time.monotonic_ns(), time.time_ns()
    offset = epoch_ns - now_ns
    meta = Meta(
        sonde_version=__version__,
        source="profile",
        program=Path(shown[-1]).name if shown else "",
        command=shown,
        directory=str(Path.cwd()),
        started=datetime.fromtimestamp((start_ns + offset) / 1e9, timezone.utc).isoformat(),
        duration_s=(now_ns - start_ns) / 1e9,
        versions=found.versions,
        clock=Clock(offset, offset, 1_000, {"kineto": found.clock_uncertainty_ns}),
    )
    tables["sources"] = source_table(tables, meta)
    write_tables(folder, tables.values())
    meta.write(folder)
    make_private(folder)
    return folder
