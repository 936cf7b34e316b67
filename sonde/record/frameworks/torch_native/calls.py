"""raw/PID.calls.bin and .jsonl → `ops` of a native torch program, its windows as `marks`, and `losses`.

The observer (calls.cpp, which describes the format) wrote them inside the program. Rows become what the windows of
a Python program are: nested calls with shapes, sequence numbers and forward operators. A call that was
under way when the process died, or when a window opened, has no record.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.analyze.base import call_tree
from sonde.columns import Array, Interner, Table, Text
from sonde.ingest.kineto.ops import kinds_of
from sonde.ingest.observers.roster import Roster
from sonde.link import link_calls
from sonde.link.forward import NODE
from sonde.record.frameworks.base import Reading, SourceTables
from sonde.store import build
from sonde.store.losses import Loss, loss_table

RECORD = np.dtype(
    [
        ("signature", "<u4"),
        ("flags", "<u4"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("sequence", "<i8"),
        ("forward_thread", "<i8"),
    ]
)
BLOCK_BYTES = 16 * 1024
THREAD, OPENED, CLOSED, LOST = 0xFFFFFFF0, 0xFFFFFFF1, 0xFFFFFFF2, 0xFFFFFFF3
ASYNC, USER_SCOPE = 1, 4
TEXTS = ("name", "shapes", "dtypes", "inputs")


@dataclass(frozen=True)
class Calls:
    """The tables of one process. Identities of `ops` start at the number that was given."""

    ops: Table
    marks: Table
    losses: Table


def native_calls(reading: Reading) -> list[SourceTables]:
    """What the observer saw in native torch programs (`--shapes`), and why it saw nothing in others."""
    found = []
    for pid, _, path in rawfolder.NATIVE_CALLS.find(reading.raw):
        process = reading.roster.process(pid)
        try:
            calls = read_calls(path, process, reading.roster, reading.numbering.op)
        except (OSError, ValueError) as error:
            reading.lose(process, "shapes_unreadable", 1, "files", f"{path.name}: {error}")
            continue
        reading.numbering.op += len(calls.ops)
        found.append(SourceTables({"ops": calls.ops, "marks": calls.marks, "losses": calls.losses}, 0))
    notes = [(reading.roster.process(pid), path) for pid, _, path in rawfolder.SHAPES_NOTE.find(reading.raw)]
    of_job = reading.raw / rawfolder.SHAPES_OF_JOB
    for process, path in [*notes, *([(-1, of_job)] if of_job.exists() else [])]:
        found.append(SourceTables({"losses": read_notes(path, process)}, 0))
    return found


def read_calls(path: Path, process: int, roster: Roster, first_op: int) -> Calls:
    """Everything of one raw/PID.calls.bin."""
    records, tid = _records(path)
    kind = records["signature"]
    known = _signatures(path.with_suffix(".jsonl"))
    is_call = kind < THREAD
    sound = is_call & (records["end_ns"] >= records["start_ns"]) & (records["start_ns"] > 0)
    named = sound & np.isin(kind, np.fromiter(known, np.uint32, len(known)))
    losses = [
        (
            "shapes_lost",
            int(records["end_ns"][kind == LOST].sum()),
            "calls that found no room or had odd inputs",
        ),
        (
            "bad_call",
            int((is_call & ~named).sum()),
            f"records of {path.name} without a signature or a true time",
        ),
    ]
    ops = _ops(records[named], tid[named], known, process, roster, first_op)
    marks = _windows(records, process, roster, tid, ops)
    rows = [Loss(process, cause, count, "calls", detail) for cause, count, detail in losses if count]
    return Calls(ops, marks, loss_table(rows))


def read_notes(path: Path, process: int) -> Table:
    """raw/PID.shapes.txt or raw/shapes.txt: why a process, or the whole job, has no shapes."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    why = lines[0] if lines else ""
    return loss_table([Loss(process, "shapes_unavailable", 1, "processes", why)])


def _records(path: Path) -> tuple[Array, Array]:
    """All written records, marks included, and the thread of each; a torn end is left out."""
    data = np.fromfile(path, np.uint8)
    blocks = data[: len(data) // BLOCK_BYTES * BLOCK_BYTES].reshape(-1, BLOCK_BYTES)
    per_block = BLOCK_BYTES // RECORD.itemsize
    rows = blocks[:, : per_block * RECORD.itemsize].copy().view(RECORD).reshape(-1, per_block)
    tid = np.repeat(rows["start_ns"][:, :1], per_block, axis=1)
    of_thread = rows["signature"][:, :1] == THREAD
    keep = (rows["signature"] != 0) & (rows["signature"] != THREAD) & of_thread
    return rows[keep], tid[keep]


def _signatures(path: Path) -> dict[int, dict[str, str | None]]:
    found = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            found[int(row["signature"])] = {text: row.get(text) for text in TEXTS}
        except (ValueError, KeyError, TypeError):
            continue  # a cut last line: its calls are counted as bad
    return found


def _ops(
    records: Array,
    tid: Array,
    known: dict[int, dict[str, str | None]],
    process: int,
    roster: Roster,
    first_op: int,
) -> Table:
    thread = _threads(tid, process, roster)
    is_async = (records["flags"] & ASYNC) != 0
    track = np.where(is_async, int(thread.max(initial=0)) + 1 + np.arange(len(records)), thread)
    order, parent, _ = call_tree.nest(track, records["start_ns"], records["end_ns"] - records["start_ns"])
    records, thread, is_async = records[order], thread[order], is_async[order]
    row_of = np.zeros(max(known, default=0) + 1, np.int64)
    row_of[list(known)] = np.arange(len(known))
    at = row_of[records["signature"]]
    texts: dict[str, Text] = {}
    for text in TEXTS:
        intern = Interner()
        codes = np.array([intern(signature[text]) for signature in known.values()], np.int32)
        texts[text] = Text(codes[at] if len(codes) else np.empty(0, np.int32), intern.values)
    is_user = (records["flags"] & USER_SCOPE) != 0
    category = Text(is_user.astype(np.int32), ["cpu_op", "user_annotation"])
    sequence, forward_thread = records["sequence"].copy(), records["forward_thread"].copy()
    _number_nodes(sequence, forward_thread, parent, texts["name"])
    count = len(records)
    ops = build.table(
        "ops",
        count,
        op=np.arange(count) + first_op,
        thread=thread,
        start_ns=records["start_ns"],
        end_ns=records["end_ns"],
        parent=np.where(parent >= 0, parent + first_op, -1),
        kind=kinds_of(texts["name"], category, sequence, forward_thread),
        sequence=np.maximum(sequence, -1),
        forward_thread=forward_thread,
        is_async=is_async,
        cpu_mem_bytes=np.zeros(count, np.int64),
        device_mem_bytes=np.zeros(count, np.int64),
        **texts,
    )
    return link_calls({"ops": ops})["ops"]


def _number_nodes(sequence: Array, forward_thread: Array, parent: Array, name: Text) -> None:
    """The engine's call around a node carries no number of its own: it is the node's."""
    is_node = np.array([value.startswith(NODE) for value in name.values] + [False])[name.codes]
    inside = np.flatnonzero((sequence >= 0) & (forward_thread > 0) & (parent >= 0))
    inside = inside[is_node[parent[inside]] & (sequence[parent[inside]] < 0)]
    sequence[parent[inside]], forward_thread[parent[inside]] = sequence[inside], forward_thread[inside]


def _threads(tid: Array, process: int, roster: Roster) -> Array:
    distinct, at = np.unique(tid, return_inverse=True)
    numbers = [roster.thread(process, number, kind="native") for number in distinct.tolist()]
    return np.array(numbers, np.int32)[at.ravel()] if len(numbers) else np.empty(0, np.int32)


def _windows(records: Array, process: int, roster: Roster, tid: Array, ops: Table) -> Table:
    """Stretches in which calls were observed; the last ends with the last call where a death left it open."""
    rows = np.flatnonzero((records["signature"] == OPENED) | (records["signature"] == CLOSED))
    rows = rows[np.argsort(records["start_ns"][rows], kind="stable")]
    found: list[tuple[int, int, int]] = []  # start, end, cost
    opened, cost_before = -1, 0
    for row in rows.tolist():
        moment, cost = int(records["start_ns"][row]), int(records["end_ns"][row])
        if records["signature"][row] == OPENED:
            opened = moment
        elif opened >= 0:
            found.append((opened, moment, cost - cost_before))
            opened, cost_before = -1, cost
    if opened >= 0:
        found.append((opened, max(opened, int(ops.array("end_ns").max(initial=opened))), 0))
    count = len(found)
    return build.table(
        "marks",
        count,
        process=[process] * count,
        thread=[-1] * count,
        kind=Text.full(count, "window"),
        name=Text.full(count, "calls"),
        number=list(range(count)),
        start_ns=[start for start, _, _ in found],
        end_ns=[end for _, end, _ in found],
        extra=Text.of([json.dumps({"cost_ns": max(cost, 0)}) for _, _, cost in found]),
    )
