"""Samples of one log → one stack number each.

A pool worker's stack is its owner's, up to where the owner opened the region, then a
`[pool]` boundary, then the worker's own frames. A worker that spins after the region's end does
no work for it: its stack is the Python code that opened the region, then the boundary
`busy-waiting after region` instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.ingest.agent import timeline
from sonde.ingest.agent.frame_table import Frame, FrameTable
from sonde.ingest.agent.log import THREAD_KINDS, WALK_RESIDUAL, RawLog, RawSamples
from sonde.ingest.agent.merge import Merger, inherited
from sonde.ingest.agent.native_frames import FLAG_KERNEL, FLAG_SIGNAL, NativeFrames
from sonde.ingest.agent.python_frames import PythonFrames
from sonde.ingest.agent.stack_table import StackTable

UNKNOWN = Frame("label", "no stack")
# CPU time without a place, by the kind of its thread.
RESIDUAL = {
    "ordinary": Frame("label", "CPU time between samples", "CPU time between samples"),
    "agent": Frame("label", "Sonde's own thread", "Sonde's own thread"),
    "unknown": Frame("label", "threads that are not followed", "threads that are not followed"),
}
SPINNING, WAITING = 1, 3  # SampleState


@dataclass(frozen=True)
class Stacked:
    """Stack per sample, and which samples could not be merged exactly."""

    stack: npt.NDArray[np.int32]
    inexact: npt.NDArray[np.bool_]


def exact_nodes(log: RawLog) -> npt.NDArray[np.bool_]:
    """Nodes whose pc is the instruction itself: leaves that call nothing, and interrupted frames (by a
    signal, or by the kernel: a frame that leads only into kernel frames is where it was entered)."""
    exact = (log.nodes.flags & FLAG_SIGNAL) != 0
    kernel = (log.nodes.flags & FLAG_KERNEL) != 0
    entered = np.zeros(len(log.nodes.pc) + 1, np.bool_)
    entered[log.nodes.parent[kernel]] = True
    entered[log.nodes.parent[~kernel]] = False
    exact = exact | (entered[1:] & ~kernel)
    leaves = np.zeros(len(log.nodes.pc) + 1, np.bool_)
    for samples in (log.samples, log.waits):
        leaves[samples.native] = True
    leaves[log.nodes.parent] = False
    for samples in (log.samples, log.waits):
        leaves[samples.owner_native] = False  # the owner's position is a return address
    return np.asarray(exact | leaves[1:])


class SampleStacks:
    """Stacks for the samples and waits of one log."""

    def __init__(
        self,
        log: RawLog,
        native: NativeFrames,
        python: PythonFrames,
        modules: timeline.PointerTimeline,
        frames: FrameTable,
        stacks: StackTable,
    ) -> None:
        self._merger = Merger(log, native, python, stacks)
        kinds = np.minimum(log.threads.kind, THREAD_KINDS.index("unknown")).tolist()
        named = zip(log.threads.number.tolist(), kinds, strict=True)
        self._special = {number: kind for number, kind in named if THREAD_KINDS[kind] in ("agent", "unknown")}
        self._frames = frames
        self._stacks = stacks
        self._boundaries = np.array(sorted({*native.boundaries, *modules.boundaries}), np.int64)
        shifts = native.ambiguous().astype(np.int64)
        self._native_shifts = inherited(log.nodes.parent, shifts, np.maximum) > 0
        pointers = modules.ambiguous(log.python_nodes.self_pointer).astype(np.int64)
        self._python_shifts = inherited(log.python_nodes.parent, pointers, np.maximum) > 0

    def of(self, samples: RawSamples) -> Stacked:
        epoch = self._epochs(samples)
        residual = np.where((samples.walk_end == WALK_RESIDUAL) & (samples.state != WAITING), 1, 0)
        for number, kind in self._special.items():  # 0: a sample; else the kind of its thread, plus 1
            residual[(residual > 0) & (samples.thread == number)] = kind + 1
        pooled = samples.owner >= 0
        spinning = pooled & (samples.state == SPINNING)
        columns = (
            samples.native,
            samples.python,
            samples.owner_native,
            pooled,
            epoch,
            residual,
            spinning,
        )
        first, inverse = _distinct([np.asarray(c, np.int64) for c in columns])
        rows = zip(*(np.asarray(c)[first].tolist() for c in columns), strict=True)
        numbers = [self._stack(*row) for row in rows]
        stack = np.array(numbers, np.int32)[inverse] if numbers else np.zeros(0, np.int32)
        return Stacked(stack, self._inexact(samples))

    def _stack(
        self,
        native: int,
        python: int,
        owner: int,
        pooled: bool,
        epoch: int,
        residual: int,
        spinning: bool,
    ) -> int:
        if not native and not python and not owner:
            frame = RESIDUAL[THREAD_KINDS[residual - 1]] if residual else UNKNOWN
            return self._stacks.push(-1, self._frames.number(frame))
        time_ns = int(self._boundaries[epoch - 1]) if epoch else timeline.BEFORE_ALL
        if not pooled:
            return self._merger.stack(native, python, time_ns)
        owners = self._merger.owners_python(native, python)
        base = self._stacks.push_pool(self._merger.stack(owner, owners, time_ns), spinning)
        return self._merger.stack(native, python, time_ns, base, below=owners)

    def _epochs(self, samples: RawSamples) -> npt.NDArray[np.int64]:
        """How many changes of meaning lie before each sample; 0 where its stack is not concerned."""
        epoch = np.zeros(len(samples.time_ns), np.int64)
        if len(self._boundaries):
            concerned = (
                self._native_shifts[samples.native]
                | self._native_shifts[samples.owner_native]
                | self._python_shifts[samples.python]
            )
            epoch[concerned] = np.searchsorted(self._boundaries, samples.time_ns[concerned], side="right")
        return epoch

    def _inexact(self, samples: RawSamples) -> npt.NDArray[np.bool_]:
        around = np.where(samples.owner >= 0, samples.owner_native, samples.native)
        own = np.where(samples.owner >= 0, samples.native, 0)  # a worker may have Python frames of its own
        evaluations = self._merger.evaluations[around] + self._merger.evaluations[own]
        surplus = evaluations - self._merger.entries[samples.python]
        setting_up = (surplus == 1) & self._merger.is_evaluation[around] & (samples.owner < 0)
        return np.asarray((surplus != 0) & ~setting_up & (samples.python > 0) & (around > 0))


def _distinct(columns: list[npt.NDArray[np.int64]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Row of the first of each distinct combination, and for each row which combination it is."""
    inverse = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        width = int(codes.max()) + 1 if len(codes) else 1
        _, inverse = np.unique(inverse * width + codes, return_inverse=True)
    _, first = np.unique(inverse, return_index=True)
    return first, inverse
