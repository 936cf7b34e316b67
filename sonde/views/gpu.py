"""`gpu`: what each device did between its first and last event, why, and who is late."""

from __future__ import annotations

from dataclasses import replace

from sonde.analyze.device.achieved import device_name_in
from sonde.analyze.ranks.answer import GpuAnswer
from sonde.analyze.ranks.comparison import gpu_summary
from sonde.analyze.ranks.details import ROWS, rank_details
from sonde.analyze.ranks.summary import summaries
from sonde.errors import InputError
from sonde.rows import typed
from sonde.store.recording import Recording
from sonde.views.options import ShowOptions


def data(recording: Recording, options: ShowOptions) -> GpuAnswer:
    """Of all ranks; of hundreds of ranks the importer has compared all, and only a few are opened."""
    rows = max(options.rows(ROWS), ROWS)
    compared = _compared(recording)
    if compared is not None and rows == ROWS:
        return compared
    found = summaries(recording.table, recording.meta.program, device_name_in(recording.meta.details))
    if compared is None:
        return gpu_summary(found).answer(rows)
    longer = {s.rank: rank_details(s, rows) for s in found}
    return replace(compared, ranks=[longer.get(r.rank, r) for r in compared.ranks])


def _compared(recording: Recording) -> GpuAnswer | None:
    kept = recording.meta.details.get("all_ranks")
    if kept is None:
        return None
    try:
        return typed(GpuAnswer, kept)
    except ValueError as error:
        raise InputError(f"the comparison of all ranks in meta.json is damaged: {error}") from None
