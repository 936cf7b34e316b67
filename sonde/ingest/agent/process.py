"""One log → its part of every table."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sonde.columns import Array, Table, Text
from sonde.ingest.agent import threads as thread_kinds
from sonde.ingest.agent import timeline
from sonde.ingest.agent.frame_table import Frame, FrameTable
from sonde.ingest.agent.gil import waits_for_gil
from sonde.ingest.agent.log import REASONS, STATES, THREAD_KINDS, WALK_ENDS, WALK_RESIDUAL, RawLog, RawSamples
from sonde.ingest.agent.native_frames import FLAG_KERNEL, AddressNames, NativeFrames
from sonde.ingest.agent.own_interrupts import without_own_interrupts
from sonde.ingest.agent.python_frames import PythonFrames
from sonde.ingest.agent.remainder import with_remainders_spread
from sonde.ingest.agent.runtime_answers import with_answers_running
from sonde.ingest.agent.sample_stacks import SampleStacks, Stacked, exact_nodes
from sonde.ingest.agent.stack_table import StackTable
from sonde.store import build
from sonde.store.losses import Loss, loss_table

ANCHORS = ["none", "missed", "hit"]
_WALK_DETAIL = {
    "truncated": "the native stack is deeper than the agent keeps",
    "no_cfi": "library code without unwind information",
    "no_caller": "generated code whose caller could not be found",
    "bad_cfa": "an unwind rule led outside the stack",
    "bad_rule": "an unwind rule of an unknown form",
    "bad_pc": "a return address that is not code",
    "off_stack": "the thread was on a stack that is not its own",
    "unreadable": "memory of the stack could not be read",
}


@dataclass(frozen=True)
class ProcessTables:
    """Parts of the tables, and what the process table needs to know."""

    threads: Table
    samples: Table
    counters: Table
    marks: Table
    losses: Table
    is_data_loader: bool


def assemble_process(
    process: int, first_thread: int, log: RawLog, names: AddressNames, frames: FrameTable, stacks: StackTable
) -> ProcessTables:
    """`process` and `first_thread` are the numbers that this log's rows get."""
    modules = timeline.PointerTimeline(log.modules)
    native = NativeFrames(log, names, frames, exact_nodes(log))
    merged = SampleStacks(log, native, PythonFrames(log, frames, modules), modules, frames, stacks)
    waits = merged.of(log.waits)
    samples = without_own_interrupts(log, with_answers_running(log, native), native)
    samples = with_remainders_spread(log, samples)
    parts = [(samples, merged.of(samples)), (_with_gil(log.waits, waits, stacks, frames), waits)]
    number = _ThreadNumbers(log, first_thread)
    seen = _frames_by_thread(parts, stacks, frames.rows())
    rows = build.concat("samples", [_sample_rows(s, stacked, number) for s, stacked in parts])
    return ProcessTables(
        threads=_thread_rows(process, first_thread, log, native, seen),
        samples=rows,
        counters=_counter_rows(process, log),
        marks=_block_rows(process, log),
        losses=_loss_rows(process, log, parts, native.kernel_names_missing()),
        is_data_loader=any(thread_kinds.is_data_loader(f) for f in seen.values()),
    )


def _with_gil(waits: RawSamples, stacked: Stacked, stacks: StackTable, frames: FrameTable) -> RawSamples:
    """The kernel tells that a thread waits for a lock; its stack, that it is the interpreter's."""
    lock = waits.reason == REASONS.index("lock")
    reason = waits.reason.copy()
    reason[np.flatnonzero(lock)[waits_for_gil(stacked.stack[lock], stacks, frames.rows())]] = REASONS.index(
        "gil"
    )
    return replace(waits, reason=reason)


class _ThreadNumbers:
    """Number in the recording by number in the log; -1 for threads that the log never announced."""

    def __init__(self, log: RawLog, first: int) -> None:
        self._order = log.threads.number.argsort(kind="stable")
        self._known = log.threads.number[self._order]
        self._first = first

    def of(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        if not len(self._known):
            return np.full(len(numbers), -1, np.int32)
        at = np.minimum(np.searchsorted(self._known, numbers), len(self._known) - 1)
        found = np.where(self._known[at] == numbers, self._order[at] + self._first, -1)
        return found.astype(np.int32)


def _sample_rows(samples: RawSamples, stacked: Stacked, number: _ThreadNumbers) -> Table:
    walk = np.where(samples.walk_end == WALK_RESIDUAL, len(WALK_ENDS), samples.walk_end)
    own_walk_whole = samples.walk_end == 0
    walk = np.where(own_walk_whole & (samples.owner >= 0), samples.owner_walk_end, walk)
    return build.table(
        "samples",
        time_ns=samples.time_ns,
        thread=number.of(samples.thread),
        stack=stacked.stack,
        state=_codes(samples.state, list(STATES)),
        reason=_codes(samples.reason, list(REASONS), none=0),
        weight_ns=samples.weight_ns,
        owner=number.of(samples.owner),
        walk=_codes(walk, [*WALK_ENDS, "residual"]),
        handler_ns=samples.handler_ns,
        anchor=_codes(samples.anchor, ANCHORS),
    )


def _codes(values: Array, names: list[str], none: int = -1) -> Text:
    codes = np.minimum(values.astype(np.int32), len(names)).astype(np.int32)
    codes[codes == none] = -1
    return Text(codes, [*names, "unknown"])


def _frames_by_thread(
    parts: list[tuple[RawSamples, Stacked]], stacks: StackTable, rows: list[Frame]
) -> dict[int, set[Frame]]:
    """Every frame that appears in a thread's own part of its samples."""
    seen: dict[int, set[Frame]] = {}
    for samples, stacked in parts:
        pairs = np.unique(np.stack([samples.thread.astype(np.int64), stacked.stack]), axis=1)
        for thread in np.unique(pairs[0]).tolist():
            numbers = stacks.frames_below_pool(pairs[1][pairs[0] == thread].tolist())
            seen.setdefault(thread, set()).update(rows[n] for n in numbers)
    return seen


def _thread_rows(
    process: int, first: int, log: RawLog, native: NativeFrames, seen: dict[int, set[Frame]]
) -> Table:
    threads = log.threads
    owned = {*log.samples.thread[log.samples.owner >= 0].tolist()}
    kinds = []
    for number, kind, routine in zip(
        threads.number.tolist(), threads.kind.tolist(), threads.routine.tolist(), strict=True
    ):
        library, name = native.function_at(routine)
        raw_kind = THREAD_KINDS[kind] if kind < len(THREAD_KINDS) else "unknown"
        kinds.append(thread_kinds.kind_of(raw_kind, library, name, seen.get(number, ()), number in owned))
    count = len(threads.number)
    last = log.footer.end_ns if log.footer else _last_moment(log)
    return build.table(
        "threads",
        count,
        thread=np.arange(first, first + count),
        process=np.full(count, process),
        tid=threads.tid,
        kind=Text.of(kinds),
        name=threads.name,
        start_ns=threads.start_ns,
        end_ns=np.where(threads.end_ns >= 0, threads.end_ns, last),
        cpu_ns=threads.cpu_ns,
    )


def _last_moment(log: RawLog) -> int:
    times = [a.max() for a in (log.samples.time_ns, log.waits.time_ns, log.counters.time_ns) if len(a)]
    return int(max([log.header.start_ns, *times]))


def _counter_rows(process: int, log: RawLog) -> Table:
    """Readings over time, and the agent's own figures at the end as agent_*."""
    end = log.footer.end_ns if log.footer else _last_moment(log)
    own = {name: value for name, value in log.statistics.items() if name != "boot_id"}
    names = Text.concat([log.counters.name, Text.of([f"agent_{name}" for name in own])])
    count = len(names)
    return build.table(
        "counters",
        count,
        time_ns=np.concatenate([log.counters.time_ns, np.full(len(own), end, np.int64)]),
        process=np.full(count, process),
        name=names,
        value=np.concatenate([log.counters.value, np.array(list(own.values()), np.float64)]),
    )


def _block_rows(process: int, log: RawLog) -> Table:
    blocks = log.blocks
    count = len(blocks.start_ns)
    return build.table(
        "marks",
        count,
        process=np.full(count, process),
        kind=Text.of(["overhead_on" if on else "overhead_off" for on in blocks.on.tolist()]),
        start_ns=blocks.start_ns,
        end_ns=blocks.end_ns,
        extra=Text.of([json.dumps({"cpu_ns": cpu}) for cpu in blocks.cpu_ns.tolist()]),
    )


def _loss_rows(
    process: int, log: RawLog, parts: list[tuple[RawSamples, Stacked]], kernel_missing: str | None
) -> Table:
    """The log's own losses added up by cause, and those found here."""
    total: dict[tuple[str, str], int] = {}
    details: dict[tuple[str, str], str] = {}
    losses = log.losses
    for cause, unit, count, detail in zip(
        losses.cause.tolist(),
        losses.unit.tolist(),
        losses.count.tolist(),
        losses.detail.tolist(),
        strict=True,
    ):
        key = (cause or "unknown", unit or "events")
        total[key] = total.get(key, 0) + count
        details.setdefault(key, detail or "")
    for samples, stacked in parts:
        ends = samples.walk_end
        for code, name in enumerate(WALK_ENDS):
            if name in _WALK_DETAIL:
                _add(total, details, f"walk_{name}", int((ends == code).sum()), _WALK_DETAIL[name])
        whole = (ends == 0) & (samples.owner_walk_end == 0)
        _add(total, details, "merge_inexact", int((stacked.inexact & whole).sum()),
             "native and Python stack do not match: frames may be in the wrong order")  # fmt: skip
        _add(total, details, "anchor_missed", int((samples.anchor == 1).sum()),
             "the native walk did not pass the interpreter's frame: it is doubtful")  # fmt: skip
    if kernel_missing:
        in_kernel = np.concatenate([[False], (log.nodes.flags & FLAG_KERNEL) != 0])
        _add(total, details, "kernel_names", int(in_kernel[log.samples.native].sum()), kernel_missing)
    return loss_table(
        Loss(process, cause, count, unit, details[cause, unit]) for (cause, unit), count in total.items()
    )


def _add(
    total: dict[tuple[str, str], int], details: dict[tuple[str, str], str], cause: str, count: int, why: str
) -> None:
    if count:
        key = (cause, "samples")
        total[key] = total.get(key, 0) + count
        details.setdefault(key, why)
