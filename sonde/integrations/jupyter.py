"""`%%sonde` in a notebook: record one cell deeply and show its operators.

    %load_ext sonde.integrations.jupyter
    %%sonde [NAME.sonde]
    model(x)

A kernel started under `sonde run` records into that recording; otherwise the cell makes one
of its own, without sampled stacks.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sonde.integrations.annotate import profile


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext`."""
    shell.register_magic_function(lambda line, cell: _record(shell, line, cell), "cell", "sonde")


def _record(shell: Any, line: str, cell: str) -> None:
    path = Path(line.strip() or f"cell-{time.strftime('%H%M%S')}.sonde")
    with profile(path, name="cell"):
        result = shell.run_cell(cell)
    if result.error_before_exec or result.error_in_exec:
        return
    if path.exists():
        print(_operators(path))


def _operators(path: Path, limit: int = 15) -> str:
    """The operators of the cell by self time, as text."""
    from sonde.analyze.ops.table import op_table
    from sonde.store.reader import open_recording

    recording = open_recording(path)
    table = op_table(recording.table("ops"), recording.table("memory"))
    lines = [f"{'operator':<44}{'calls':>8}{'self ms':>12}{'total ms':>12}"]
    for row in range(min(limit, len(table))):
        self_ms, total_ms = table.array("self_ns")[row] / 1e6, table.array("total_ns")[row] / 1e6
        name = (table.text("name")[row] or "")[:43]
        lines.append(f"{name:<44}{table.array('calls')[row]:>8}{self_ms:>12.3f}{total_ms:>12.3f}")
    return "\n".join([*lines, f"more: sonde show {path} ops"])
