"""The prefix tree of all stacks of a recording, with what a branch has said so far.

Besides parent and frame each node remembers the operator and the module it is in, so that
a wrapper of an operator or module that is under way does not show as a second call of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sonde.columns import Table
from sonde.ingest.agent.frame_table import Frame, FrameTable
from sonde.ingest.agent.native_frames import NAMELESS_KERNEL, NodeFrames
from sonde.store import build
from sonde.symbols.torchnames import Mark, Operator

NO_STACK = -1
POOL = Frame("label", "pool", "pool")  # between the owner's frames and a worker's
SPIN_AFTER = Frame(
    "label", "busy-waiting after region", "busy-waiting after region"
)  # the same when the work is done


class StackTable:
    """Grows stacks frame by frame. A stack is its node number; -1 is the empty stack."""

    def __init__(self, frames: FrameTable) -> None:
        self._frames = frames
        self._nodes: dict[tuple[int, int, bool], int] = {}
        self._parent: list[int] = []
        self._frame: list[int] = []
        self._depth: list[int] = []
        self._heuristic: list[bool] = []
        self._operator: list[Operator | None] = []
        self._module: list[int] = []
        self._operator_frames: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._parent)

    def push(self, stack: int, frame: int, heuristic: bool = False) -> int:
        """The stack with one more frame; operator and module stay those of the caller."""
        key = (stack, frame, heuristic)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = len(self._parent)
            self._parent.append(stack)
            self._frame.append(frame)
            self._depth.append(self._depth[stack] + 1 if stack >= 0 else 1)
            self._heuristic.append(heuristic)
            self._operator.append(self._operator[stack] if stack >= 0 else None)
            self._module.append(self._module[stack] if stack >= 0 else -1)
        return node

    def push_native(self, stack: int, node: NodeFrames) -> int:
        """Adds a native node, in front of it the operator that begins there."""
        operator = node.operator
        if operator is not None and not self._under_way(stack, operator):
            stack = self.push(stack, self._operator_frame(operator.name))
            self._operator[stack] = operator
        if stack >= 0 and node.frames == (self._frame[stack],) == (self._frames.find(NAMELESS_KERNEL),):
            return stack  # nameless frames of the kernel are one
        for i, frame in enumerate(node.frames):
            # The step to the caller is the outermost frame's; inlined ones share their code.
            stack = self.push(stack, frame, node.heuristic and i == 0)
        if operator is not None and operator.mark is Mark.CALL:
            self._operator[stack] = operator  # a further entry below is a call of its own
        return stack

    def push_pool(self, stack: int, spinning: bool = False) -> int:
        """Adds the boundary between an owner and who works for it, or `spinning` has nothing more to do."""
        return self.push(stack, self._frames.number(SPIN_AFTER if spinning else POOL))

    def push_python(self, stack: int, frame: int, module: int | None, kernel: str | None = None) -> int:
        """Adds a Python frame; before it the module whose call begins there, after it the kernel it calls."""
        if module is not None and (stack < 0 or self._module[stack] != module):
            stack = self.push(stack, module)
            self._module[stack] = module
        stack = self.push(stack, frame)
        self._operator[stack] = None  # operators below Python code are new calls
        if kernel is not None:
            stack = self.push(stack, self._operator_frame(kernel))
            self._operator[stack] = Operator(kernel, Mark.CALL)
        return stack

    def _under_way(self, stack: int, operator: Operator) -> bool:
        """Is it the call that the stack is in already, seen at another of its functions?"""
        current = self._operator[stack] if stack >= 0 else None
        if operator.mark is Mark.REST:
            return current is not None  # part of whatever it is that runs
        if current is None or current.name != operator.name:
            return False
        return operator.mark is Mark.INNER or (operator.mark is Mark.CALL and current.mark is Mark.BINDING)

    def _operator_frame(self, name: str) -> int:
        frame = self._operator_frames.get(name)
        if frame is None:
            frame = self._operator_frames[name] = self._frames.number(Frame("op", name, name))
        return frame

    def from_leaf(self, node: int) -> Iterator[int]:
        """Frame numbers from a stack's leaf to its root."""
        while node >= 0:
            yield self._frame[node]
            node = self._parent[node]

    def frames_below_pool(self, nodes: Iterable[int]) -> set[int]:
        """Frame numbers on the way from these nodes up to the root, or to a pool's boundary."""
        boundaries = (self._frames.find(POOL), self._frames.find(SPIN_AFTER))
        visited: set[int] = set()
        for node in nodes:
            while node >= 0 and node not in visited and self._frame[node] not in boundaries:
                visited.add(node)
                node = self._parent[node]
        return {self._frame[node] for node in visited}

    def table(self) -> Table:
        count = len(self._parent)
        return build.table(
            "stacks",
            count,
            stack=np.arange(count, dtype=np.int32),
            parent=np.array(self._parent, np.int32),
            frame=np.array(self._frame, np.int32),
            depth=np.array(self._depth, np.int32),
            heuristic=np.array(self._heuristic, np.bool_),
        )
