"""`sonde show REC gpu`: what each device did between its first and last event, why, and who is late."""

from __future__ import annotations

from typing import Any

from sonde.analyze.device.achieved import device_name_in
from sonde.analyze.ranks.comparison import gpu_summary
from sonde.analyze.ranks.details import ROWS, rank_details
from sonde.analyze.ranks.summary import summaries
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions


def data(recording: Recording, options: ShowOptions) -> dict[str, Any]:
    """`devices`, `stragglers`, `alignment`, `ranks`; keys as in docs/reference."""
    rows = max(options.rows(ROWS), ROWS)
    compared = recording.meta.details.get("all_ranks")
    if isinstance(compared, dict) and rows == ROWS:  # of hundreds of ranks only a few are opened
        return compared
    found = summaries(recording.table, recording.meta.program, device_name_in(recording.meta.details))
    if not isinstance(compared, dict):
        return gpu_summary(found).to_json(rows)
    longer = {s.rank: rank_details(s, rows) for s in found}
    return {**compared, "ranks": [longer.get(r["rank"], r) for r in compared["ranks"]]}
