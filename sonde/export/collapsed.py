"""Collapsed stacks: `frame;frame;… weight` lines, root first, weight in nanoseconds.

The universal language of flame graphs. A `;` or newline inside a name would
break a line in two, so it is written as `:` or a space.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from sonde.export.profile import StackProfile, profile_of
from sonde.store.recording import Recording


def write(recording: Recording, stream: BinaryIO) -> None:
    for line in collapsed_lines(profile_of(recording)):
        stream.write(line.encode("utf-8", "replace") + b"\n")


def collapsed_lines(profile: StackProfile) -> Iterator[str]:
    """One line per distinct text, in the order of the tree: places of one native function read the same.

    Nodes that read the same are joined first, so that no two texts need to be held to be compared:
    those of deep stacks would fill the memory.
    """
    profile.refuse_endless()
    clean = [label.replace(";", ":").replace("\n", " ").replace("\r", " ") for label in profile.labels]
    own_ns = np.zeros(len(profile.parent), np.int64)
    np.add.at(own_ns, profile.stack, profile.weight_ns)
    joined: dict[tuple[int, str], int] = {}
    node_of: list[int] = []
    total_ns: list[int] = []
    for parent, frame, ns in zip(
        profile.parent.tolist(), profile.frame.tolist(), own_ns.tolist(), strict=True
    ):
        node = joined.setdefault((node_of[parent] if parent >= 0 else -1, clean[frame]), len(joined))
        node_of.append(node)
        if node == len(total_ns):
            total_ns.append(0)
        total_ns[node] += ns
    steps = list(joined)  # the key of a node: its parent and its text
    for node, ns in enumerate(total_ns):
        if ns > 0:
            yield f"{_path(steps, node)} {ns}"


def _path(steps: list[tuple[int, str]], node: int) -> str:
    texts = []
    while node >= 0:
        node, text = steps[node]
        texts.append(text)
    return ";".join(reversed(texts))
