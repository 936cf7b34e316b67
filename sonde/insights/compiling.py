"""What torch.compile did, from its marks: compilations, recompilations and graph breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde import json_text
from sonde.analyze.samples.stack_index import LIBRARY_PYTHON
from sonde.insights.model import NotEnough
from sonde.insights.subject import Subject


@dataclass(frozen=True)
class Compilation:
    """One compilation of a function."""

    name: str
    start_ns: int
    end_ns: int
    facts: dict[str, Any]

    @property
    def reason(self) -> str:
        return str(self.facts.get("recompile_reason") or "")


def compilations(subject: Subject) -> tuple[list[Compilation], list[Compilation]]:
    """(compilations, graph breaks) of the process; NotEnough when nothing was compiled."""
    marks = subject.marks("compile")
    found, breaks = [], []
    for name, start, end, text in zip(
        marks.text("name").tolist(),
        marks.array("start_ns").tolist(),
        marks.array("end_ns").tolist(),
        marks.text("extra").tolist(),
        strict=True,
    ):
        one = Compilation(name or "", start, end, json_text.object_of(text))
        if name == "graph_break":
            breaks.append(one)
        elif name != "kernel":
            found.append(one)
    if not found and not breaks:
        raise NotEnough("nothing was compiled with torch.compile")
    return found, breaks


def place(one: Compilation) -> tuple[str, int]:
    file, line = one.facts.get("file"), one.facts.get("line")
    return (file if isinstance(file, str) else ""), (line if isinstance(line, int) else -1)


def users_place(subject: Subject, again: list[Compilation]) -> tuple[str, int]:
    """The user's line behind compilations: of the function, or where that is a library's, of what called it meanwhile.

    `torch.compile(nn.Sequential(…))` compiles a function of torch's own, whose line helps nobody.
    """
    file, line = place(again[0])
    if file and not LIBRARY_PYTHON.search(file):
        return file, line
    samples, index = subject.table("samples"), subject.stacks
    when, stack = samples.array("time_ns"), samples.array("stack").astype(np.int64)
    meanwhile = np.zeros(len(samples), np.bool_)
    for one in again:
        meanwhile |= (when >= one.start_ns) & (when < one.end_ns)
    mine = stack[
        meanwhile & (samples.array("thread") == subject.thread) & (stack >= 0) & (stack < len(index))
    ]
    rows = index.user_line[mine] if len(index) else mine[:0]
    if not (rows >= 0).any():
        return file, line
    frame = int(np.bincount(rows[rows >= 0]).argmax())
    return index.frames.text("file")[frame] or "", int(index.frames.array("line")[frame])
