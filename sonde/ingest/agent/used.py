"""A log with the stacks that its samples use and no others.

Enters: a log, such as the newest part of one that is followed while it grows. Leaves: the same with fewer nodes,
so that naming costs what the samples need and not what the program has shown since its start.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sonde.ingest.agent.log import I32, RawLog, RawNodes, RawPythonNodes, RawSamples


def only_used(log: RawLog) -> RawLog:
    """Ids stay dense and parents stay before children."""
    events = (log.samples, log.waits)
    native = _with_ancestors([ids for e in events for ids in (e.native, e.owner_native)], log.nodes.parent)
    python = _with_ancestors([e.python for e in events], log.python_nodes.parent)
    new_native, new_python = _numbered(native), _numbered(python)
    nodes, python_nodes = log.nodes, log.python_nodes
    return replace(
        log,
        nodes=RawNodes(new_native[nodes.parent[native]], nodes.pc[native], nodes.flags[native]),
        python_nodes=RawPythonNodes(
            parent=new_python[python_nodes.parent[python]],
            code=python_nodes.code[python],
            instruction=python_nodes.instruction[python],
            entry=python_nodes.entry[python],
            self_pointer=python_nodes.self_pointer[python],
        ),
        samples=_renumbered(log.samples, new_native, new_python),
        waits=_renumbered(log.waits, new_native, new_python),
    )


def _with_ancestors(leaves: list[I32], parent: I32) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows are used, as a mask."""
    used = np.zeros(len(parent) + 1, np.bool_)  # by id; 0 is none
    front = np.unique(np.concatenate(leaves)) if leaves else np.empty(0, np.int32)
    front = front[front > 0]
    while len(front):
        used[front] = True
        above = np.unique(parent[front - 1])
        front = above[(above > 0) & ~used[above]]
    return used[1:]


def _numbered(used: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> I32:
    """From id to new id; 0 for none and for what is not used."""
    new = np.zeros(len(used) + 1, np.int32)
    new[1:][used] = np.arange(1, int(used.sum()) + 1, dtype=np.int32)
    return new


def _renumbered(samples: RawSamples, native: I32, python: I32) -> RawSamples:
    return replace(
        samples,
        native=native[samples.native],
        python=python[samples.python],
        owner_native=native[samples.owner_native],
    )
