"""Native and Python stacks of a sample → one stack.

The interpreter's evaluation function appears once in the native stack for each Python frame
that entered it from C (`entry`). So where both counts agree the merge is exact: each native
evaluation frame is followed by its entry frame and the Python frames inlined into it. Where they
do not, frames are kept in the best order known, and the sample is counted:
- evaluation frames too many: the innermost ones stay without Python frames. One too many at the very leaf
  is exact, too: the function is about to set up its Python frame, or has just left it;
- too few: the native walk stopped short, and the outer Python frames go above its end.

Stacks share prefixes, so the work is done once per distinct pair of nodes, not per sample.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sonde.ingest.agent.log import RawLog
from sonde.ingest.agent.native_frames import FLAG_EVAL, FLAG_OWNER, NativeFrames
from sonde.ingest.agent.python_frames import PythonFrames
from sonde.ingest.agent.stack_table import NO_STACK, StackTable


class Merger:
    """Merged stacks of one log."""

    def __init__(self, log: RawLog, native: NativeFrames, python: PythonFrames, stacks: StackTable) -> None:
        self._native = native
        self._python = python
        self._stacks = stacks
        self._native_parent = [0, *log.nodes.parent.tolist()]
        self._python_parent = [0, *log.python_nodes.parent.tolist()]
        is_eval = (log.nodes.flags & FLAG_EVAL) != 0
        self.is_evaluation = np.concatenate([np.zeros(1, np.bool_), is_eval])
        self._is_eval = self.is_evaluation.tolist()
        self._is_entry = [False, *log.python_nodes.entry.tolist()]
        self.evaluations = counted(log.nodes.parent, is_eval)
        self.entries = counted(log.python_nodes.parent, log.python_nodes.entry)
        self._evaluation_list = self.evaluations.tolist()
        self._entry_list = self.entries.tolist()
        self._is_owner = [False, *((log.nodes.flags & FLAG_OWNER) != 0).tolist()]
        self._known: dict[tuple[int, int, int, int, int], int] = {}

    def stack(self, native: int, python: int, time_ns: int, base: int = NO_STACK, below: int = 0) -> int:
        """The stack that ends in these nodes, on top of `base`, which holds the Python frames up to `below`."""
        pending: list[tuple[tuple[int, int, int, int, int], int, list[int]]] = []
        while True:
            key = (native, python, time_ns, base, below)
            found = self._known.get(key)
            if found is not None:
                stack = found
                break
            if native == 0:
                stack = self._push_python(base, self._segment(python, below, whole=True), time_ns)
                self._known[key] = stack
                break
            segment: list[int] = []
            if self._is_eval[native] and python != below and self._takes_python(native, python):
                segment = self._segment(python, below, whole=False)
            pending.append((key, native, segment))
            native = self._native_parent[native]
            python = self._python_parent[segment[0]] if segment else python
        for key, node, segment in reversed(pending):
            stack = self._stacks.push_native(stack, self._native.frames(node, time_ns))
            stack = self._push_python(stack, segment, time_ns)
            if self._is_owner[node]:  # here this thread waits; the next frame is of who works for it
                stack = self._stacks.push_pool(stack)
            self._known[key] = stack
        return stack

    def owners_python(self, native: int, python: int) -> int:
        """Of a worker's Python stack the part that is its owner's: what its own evaluation frames leave over."""
        left = self._entry_list[python] - self._evaluation_list[native]
        if self._evaluation_list[native] == 0 or left < 0:
            return python
        while python and self._entry_list[python] > left:
            python = self._python_parent[python]
        return python

    def _takes_python(self, native: int, python: int) -> bool:
        return python != 0 and 0 < self._entry_list[python] >= self._evaluation_list[native]

    def _segment(self, python: int, below: int, whole: bool) -> list[int]:
        """Nodes from the entry frame (or below `below`) to `python`."""
        nodes = []
        while python and python != below:
            nodes.append(python)
            if self._is_entry[python] and not whole:
                break
            python = self._python_parent[python]
        return nodes[::-1]

    def _push_python(self, stack: int, nodes: list[int], time_ns: int) -> int:
        for node in nodes:
            frame, module = self._python.frame(node), self._python.module(node, time_ns)
            stack = self._stacks.push_python(stack, frame, module, self._python.kernel(node))
        return stack


def counted(parent: npt.NDArray[np.int32], marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """For each node id (0 included) how many marked nodes are on its path to the root."""
    return inherited(parent, marked.astype(np.int64), np.add)


def inherited(
    parent: npt.NDArray[np.int32], own: npt.NDArray[np.int64], combine: np.ufunc
) -> npt.NDArray[np.int64]:
    """Combine each node's value with its ancestors'; index 0 is the empty stack. Parents precede children.

    Pointer doubling: after k rounds a node has combined 2^k ancestors, so ten rounds do for any real stack.
    """
    values = np.concatenate([np.zeros(1, np.int64), own])
    jump = np.concatenate([np.zeros(1, np.int64), parent.astype(np.int64)])
    while jump.any():
        values = combine(values, values[jump])
        values[0] = 0
        jump = jump[jump]
    return values
