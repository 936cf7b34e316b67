"""Blocks of memory → the page: what was alive at any moment that a reader points at.

The largest blocks are carried, each with its life, who asked for it, in which module and what for, exactly as the peak
counts them (`sonde.analyze.memory`). What is left out is said beside the list.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.memory.categories import categorise, known_tensors
from sonde.analyze.memory.timeline import OPEN_NS, blocks
from sonde.columns import Array, Text
from sonde.render.html.payload import Payload
from sonde.store.recording import Recording

MOST = 20_000


def add_blocks(payload: Payload, recording: Recording, origin_ns: int) -> None:
    """Rows by start; an end of -1: alive to the end of its window."""
    memory, marks, threads, ops = (recording.table(n) for n in ("memory", "marks", "threads", "ops"))
    found = blocks(memory, marks, threads)
    found = found.with_columns(category=categorise(found, marks, known_tensors(marks)))
    size = found.array("bytes")
    top = np.sort(np.argsort(-size, kind="stable")[:MOST])
    found = found.take(top)
    at = rows_of(ops.array("op"), found.array("op"))
    end = found.array("end_ns")
    strings = payload.strings
    payload.add(
        "blocks",
        process=found.array("process").astype(np.int64),
        device=strings.column(found.text("device")),
        start=found.array("start_ns") - origin_ns,
        end=np.where(end >= OPEN_NS, -1, end - origin_ns),
        window=found.array("window").astype(np.int64),
        bytes=found.array("bytes"),
        op=_named(payload, ops.text("name"), at),
        module=_named(payload, ops.text("module"), at),
        category=strings.column(found.text("category")),
        older=found.array("older").astype(np.int64),
    )
    payload.facts["blocks_left_out"] = {
        "blocks": len(size) - len(top),
        "bytes": int(size.sum() - size[top].sum()),
    }


def _named(payload: Payload, column: Text, rows: Array) -> Array:
    """Codes in the page of a text column's rows, -1 for no row."""
    some = column.take(np.maximum(rows, 0)) if len(column.codes) else Text.of([None] * len(rows))
    result: Array = np.where(rows >= 0, payload.strings.column(some), -1)
    return result
