"""Where the time went, by stack: hot frames and the top-down tree.

In: the tables frames, stacks and samples (all samples, or those that the caller chose). Out:
plain rows. Weights are nanoseconds; `hidden` frames give their own time to the caller that is
shown, so that no time is lost by hiding machinery.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sonde.analyze.base.nesting import sum_up
from sonde.analyze.samples.labels import frame_labels
from sonde.columns import Table

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HotFrame:
    """A frame with the time on top of the stack and the time anywhere in it (recursion counted once)."""

    frame: int
    label: str
    layer: str
    self_ns: int
    total_ns: int
    samples: int


@dataclass
class TreeNode:
    """A call path: its time with everything below it, and the time in itself."""

    frame: int  # -1 at the root of the tree
    label: str
    self_ns: int = 0
    total_ns: int = 0
    samples: int = 0
    children: dict[int, TreeNode] = field(default_factory=dict)

    def sorted_children(self) -> list[TreeNode]:
        """Heaviest first; ties by name, so that the order is stable."""
        return sorted(self.children.values(), key=lambda n: (-n.total_ns, n.label))


def top_down(
    frames: Table, stacks: Table, samples: Table, runtime: bool = True, min_share: float = 0.0
) -> TreeNode:
    """The call tree. `runtime=False` leaves machinery out; `min_share` drops paths below that share."""
    labels = frame_labels(frames)
    same = _same_function(frames, labels)
    hidden = np.zeros(len(frames), np.bool_) if runtime else frames.array("runtime")
    root = TreeNode(-1, "all")
    shown: dict[int, TreeNode] = {-1: root}  # stack node → the tree node that stands for it
    parent, frame = stacks.array("parent").tolist(), same[stacks.array("frame")].tolist()
    self_ns, count = _by_stack(stacks, samples)

    def place(stack: int) -> TreeNode:
        path = []
        while stack not in shown:
            path.append(stack)
            stack = parent[stack]
        node = shown[stack]
        for step in reversed(path):
            if not hidden[frame[step]]:
                known = node.children.get(frame[step])
                if known is None:
                    known = node.children[frame[step]] = TreeNode(frame[step], labels[frame[step]])
                node = known
            shown[step] = node
        return node

    for stack in np.flatnonzero(count).tolist():
        node = place(stack)
        node.self_ns += int(self_ns[stack])
        node.samples += int(count[stack])
    _add_up(root)
    _prune(root, root.total_ns * min_share)
    return root


def hot_frames(frames: Table, stacks: Table, samples: Table, runtime: bool = True) -> list[HotFrame]:
    """Frames by time on top of the stack, heaviest first. `runtime=False`: their time is their caller's."""
    labels, layers = frame_labels(frames), frames.text("layer").tolist()
    self_ns = np.zeros(len(frames), np.int64)
    total_ns = np.zeros(len(frames), np.int64)
    counts = np.zeros(len(frames), np.int64)
    active: dict[int, int] = {}
    # An explicit stack: paths may be deeper than the interpreter's recursion limit.
    work: list[tuple[TreeNode, bool]] = [(top_down(frames, stacks, samples, runtime), False)]
    while work:
        node, leaving = work.pop()
        if leaving:
            active[node.frame] -= 1
            continue
        if node.frame >= 0:
            self_ns[node.frame] += node.self_ns
            counts[node.frame] += node.samples
            if not active.get(node.frame):
                total_ns[node.frame] += node.total_ns
            active[node.frame] = active.get(node.frame, 0) + 1
            work.append((node, True))
        work += [(child, False) for child in node.children.values()]
    order = np.lexsort((np.arange(len(frames)), -total_ns, -self_ns))
    return [
        HotFrame(f, labels[f], layers[f] or "", int(self_ns[f]), int(total_ns[f]), int(counts[f]))
        for f in order.tolist()
        if total_ns[f] > 0
    ]


def summed_by(parent: I64, key: I64, weight: I64, count: I64, keys: int) -> tuple[I64, I64, I64]:
    """Of a tree whose nodes have a key (a function): self time, total time, and the samples behind the total.

    Parents stand before their children. Recursion counts once: only the outermost node of a key adds to its total.
    The report sums a selected range by the same rule (`functionTable` in web/src/calc/functions.ts).
    """
    own, total, behind = (np.zeros(keys, np.int64) for _ in range(3))
    np.add.at(own, key, weight)
    all_ns, all_count = sum_up(parent, weight), sum_up(parent, count)
    children: list[list[int]] = [[] for _ in range(len(parent))]
    roots: list[int] = []
    for node, above in enumerate(parent.tolist()):
        (children[above] if above >= 0 else roots).append(node)
    open_keys = [0] * keys
    names = key.tolist()
    work = [(node, False) for node in roots]
    while work:
        node, leaving = work.pop()
        if leaving:
            open_keys[names[node]] -= 1
            continue
        if not open_keys[names[node]]:
            total[names[node]] += all_ns[node]
            behind[names[node]] += all_count[node]
        open_keys[names[node]] += 1
        work.append((node, True))
        work += [(child, False) for child in children[node]]
    return own, total, behind


def _same_function(frames: Table, labels: list[str]) -> I64:
    """For each frame the first one that reads the same: lines of one native function are one place here."""
    first: dict[tuple[str, str | None], int] = {}
    libraries = frames.text("library").tolist()
    keys = zip(labels, libraries, strict=True)
    return np.array([first.setdefault(key, i) for i, key in enumerate(keys)], np.int64)


def _by_stack(stacks: Table, samples: Table) -> tuple[I64, I64]:
    """Weight and number of samples that end in each stack node."""
    stack = samples.array("stack")
    known = stack >= 0
    size = len(stacks)
    weight = np.zeros(size, np.int64)
    np.add.at(weight, stack[known], samples.array("weight_ns")[known])
    return weight, np.bincount(stack[known], minlength=size).astype(np.int64)


def _add_up(root: TreeNode) -> None:
    order = [root]
    for node in order:
        order += node.children.values()
    for node in reversed(order):
        node.total_ns = node.self_ns + sum(child.total_ns for child in node.children.values())


def _prune(root: TreeNode, least_ns: float) -> None:
    work = [root]
    while work:
        node = work.pop()
        node.children = {f: child for f, child in node.children.items() if child.total_ns >= least_ns}
        work += node.children.values()
