"""The weak kernels of a recording as questions to oneDNN's dispatcher."""

from __future__ import annotations

import numpy as np

from sonde import json_text
from sonde.analyze.primitives.implementations import rank_of_effective
from sonde.analyze.primitives.table import executed, weak_kernels
from sonde.machine.dispatch import Question
from sonde.store.recording import Recording

MOST = 8


def questions(recording: Recording, most: int = MOST) -> list[Question]:
    """The `most` weak kernels with the most time, each direction of a problem once."""
    table = recording.table("primitives")
    isa = str(recording.meta.details.get("onednn", {}).get("isa", ""))
    weak = weak_kernels(table, rank_of_effective(isa))
    found: list[Question] = []
    for kind, implementation, shape in zip(
        weak.text("kind").tolist(),
        weak.text("implementation").tolist(),
        weak.text("shape").tolist(),
        strict=True,
    ):
        same = table.text("kind").equals(kind or "") & table.text("shape").equals(shape or "")
        same = same & table.text("implementation").equals(implementation or "") & executed(table)
        for row in np.flatnonzero(same).tolist():
            types = json_text.list_of(table.text("dtypes")[row])
            question = Question(
                kind or "",
                shape or "",
                table.text("direction")[row] or "",
                table.text("layouts")[row] or "",
                str(types[0]) if types and types[0] else "f32",
            )
            if question not in found:
                found.append(question)
        if len(found) >= most:
            break
    return found[:most]
