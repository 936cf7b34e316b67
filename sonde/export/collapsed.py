"""Collapsed stacks: `frame;frame;… weight` lines, root first, weight in nanoseconds.

The universal language of flame graphs. A `;` or newline inside a name would
break a line in two, so it is written as `:` or a space.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from sonde.export.profile import StackProfile, profile_of
from sonde.store.recording import Recording


def write(recording: Recording, stream: BinaryIO) -> None:
    for line in collapsed_lines(profile_of(recording)):
        stream.write(line.encode("utf-8", "replace") + b"\n")


def collapsed_lines(profile: StackProfile) -> list[str]:
    """One line per distinct text, in the order of the tree: places of one native function read the same."""
    clean = [label.replace(";", ":").replace("\n", " ").replace("\r", " ") for label in profile.labels]
    weights = np.zeros(len(profile.parent), np.int64)
    np.add.at(weights, profile.stack, profile.weight_ns)
    texts: list[str] = []
    total: dict[str, int] = {}
    for node, (parent, frame) in enumerate(zip(profile.parent.tolist(), profile.frame.tolist(), strict=True)):
        text = f"{texts[parent]};{clean[frame]}" if parent >= 0 else clean[frame]
        texts.append(text)
        if weights[node] > 0:
            total[text] = total.get(text, 0) + int(weights[node])
    return [f"{text} {weight}" for text, weight in total.items()]
