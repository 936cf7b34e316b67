"""One shape for every exporter: labelled frames, a prefix tree of stacks, and weighted samples.

A recording with samples gives its samples. An imported trace has none: its
operator calls become stacks (thread, operator, …, kernel) weighted with self
time, so that every format also serves traces. Waiting is kept apart from CPU
time: exporters that have one unit take on-CPU samples only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.base.nesting import depths
from sonde.analyze.samples.labels import frame_labels
from sonde.columns import Table
from sonde.errors import InputError
from sonde.store import build
from sonde.store.recording import Recording

I64 = npt.NDArray[np.int64]
MOST_PATH_FRAMES = 50_000_000  # some gigabyte of text


@dataclass(frozen=True)
class StackProfile:
    """What exporters write. Rows of `frames` and nodes of the tree are dense and zero-based."""

    frames: Table  # table `frames`
    labels: list[str]  # one per frame
    parent: I64  # per node, -1 at the root; parents come before children
    frame: I64  # per node: row in `frames`
    time_ns: I64  # per sample
    thread: I64  # per sample: thread number
    stack: I64  # per sample: node
    weight_ns: I64  # per sample

    def refuse_endless(self) -> None:
        """InputError where stacks written out one by one, as most formats want them, would fill a disk.

        A prefix tree of n nodes, one below the other, has n²/2 frames on its paths.
        """
        depth = depths(self.parent) + 1
        frames = int(depth[np.unique(self.stack)].sum()) if len(self.stack) else 0
        if frames > MOST_PATH_FRAMES:
            raise InputError(
                f"the stacks are up to {int(depth.max())} frames deep and would take {frames} frames to write out; "
                f"at most {MOST_PATH_FRAMES} are written",
                "export what keeps stacks as a tree: -f firefox, or the tables with -f parquet",
            )

    def path(self, node: int) -> list[int]:
        """Frame rows of a stack, root first."""
        rows = []
        while node >= 0:
            rows.append(int(self.frame[node]))
            node = int(self.parent[node])
        rows.reverse()
        return rows


def profile_of(recording: Recording) -> StackProfile:
    """On-CPU samples of a recording, or the operator calls of a trace."""
    samples = recording.table("samples")
    if len(samples) == 0:
        return _from_ops(recording)
    on_cpu = samples.take(~samples.text("state").equals("waiting") & (samples.array("stack") >= 0))
    stacks, frames = recording.table("stacks"), recording.table("frames")
    row_of_frame = _rows(frames.array("frame"))
    order = np.argsort(stacks.array("depth"), kind="stable")  # parents before children
    node_of_stack = _rows(stacks.array("stack")[order])
    parents = stacks.array("parent")[order].astype(np.int64)
    return StackProfile(
        frames=frames,
        labels=frame_labels(frames),
        parent=np.where(parents >= 0, node_of_stack[parents], -1),
        frame=row_of_frame[stacks.array("frame")[order]],
        time_ns=on_cpu.array("time_ns"),
        thread=on_cpu.array("thread").astype(np.int64),
        stack=node_of_stack[on_cpu.array("stack")],
        weight_ns=on_cpu.array("weight_ns"),
    )


def _rows(identities: npt.NDArray[np.int64]) -> I64:
    """Identity → row. Identities are small non-negative integers."""
    lookup = np.full(int(identities.max(initial=-1)) + 1, -1, np.int64)
    lookup[identities] = np.arange(len(identities))
    return lookup


def _from_ops(recording: Recording) -> StackProfile:
    """Calls as stacks with self time; equal paths share their nodes."""
    ops = recording.table("ops")
    ops = ops.take(np.lexsort((-ops.array("end_ns"), ops.array("start_ns"), ops.array("thread"))))
    row_of_op = _rows(ops.array("op"))
    parents = ops.array("parent")
    parent_row = np.where(parents >= 0, row_of_op[parents], -1)
    duration = ops.array("end_ns") - ops.array("start_ns")
    in_children = np.zeros(len(ops), np.int64)
    np.add.at(in_children, parent_row[parent_row >= 0], duration[parent_row >= 0])
    names = ops.text("name")
    nodes: dict[tuple[int, int], int] = {}
    node_of_row = np.empty(len(ops), np.int64)
    node_parent: list[int] = []
    node_frame: list[int] = []
    order = np.arange(len(ops))
    if (parent_row >= order).any():  # a damaged table: a call that begins before the one around it
        order = np.argsort(depths(parent_row), kind="stable")
    for row, up, code in zip(
        order.tolist(), parent_row[order].tolist(), names.codes[order].tolist(), strict=True
    ):
        key = (int(node_of_row[up]) if up >= 0 else -1, code)
        node = nodes.get(key)
        if node is None:
            node = nodes[key] = len(node_parent)
            node_parent.append(key[0])
            node_frame.append(code)
        node_of_row[row] = node
    frames = build.table(
        "frames", frame=np.arange(len(names.values)), layer=["op"] * len(names.values), name=names.values
    )
    return StackProfile(
        frames=frames,
        labels=frame_labels(frames),
        parent=np.array(node_parent, np.int64),
        frame=np.array(node_frame, np.int64),
        time_ns=ops.array("start_ns"),
        thread=ops.array("thread").astype(np.int64),
        stack=node_of_row,
        weight_ns=np.maximum(duration - in_children, 0),
    )
