"""Trees of nested calls, natively: who encloses whom, sums up the tree, values down it.

Rows are ordered as `nest` orders them: by track and start, parents before their
children. Everything is arrays in, arrays out; nothing is changed in place.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from sonde import native
from sonde.columns import Array, Table


@functools.cache
def _library() -> ctypes.CDLL:
    lib = native.tools()
    pointer: Any = ctypes.c_void_p
    i64: Any = ctypes.c_int64
    lib.sonde_nest.argtypes = [i64] + [pointer] * 5
    lib.sonde_nest.restype = i64
    lib.sonde_enclose.argtypes = [i64] + [pointer] * 5 + [i64] + [pointer] * 3
    lib.sonde_enclose.restype = None
    lib.sonde_roll_up.argtypes = [i64, pointer, pointer]
    lib.sonde_roll_up.restype = None
    lib.sonde_inherit.argtypes = [i64, pointer, pointer]
    lib.sonde_inherit.restype = None
    lib.sonde_chains.argtypes = [i64] + [pointer] * 6
    lib.sonde_chains.restype = i64
    return lib


def nest(track: Array, start_ns: Array, duration_ns: Array) -> tuple[Array, Array, int]:
    """Order calls by (track, start, longest first) and find each one's parent.

    Returns the order (indices into the input), the parent of each row in that
    order (an index into the order, -1 at the top), and how many calls overlap
    the one before without nesting in it.
    """
    count = len(track)
    order, parent = np.empty(count, np.int64), np.empty(count, np.int64)
    inputs: list[Array] = [
        np.ascontiguousarray(track, np.int32),
        np.ascontiguousarray(start_ns, np.int64),
        np.ascontiguousarray(duration_ns, np.int64),
    ]
    overlaps = _library().sonde_nest(
        count, *(a.ctypes.data for a in inputs), order.ctypes.data, parent.ctypes.data
    )
    return order, parent, int(overlaps)


def enclose(
    track: Array,
    start_ns: Array,
    end_ns: Array,
    parent: Array,
    eligible: Array | None,
    query_track: Array,
    query_ns: Array,
) -> Array:
    """The innermost eligible call around each (track, moment), -1 when none.

    Calls are sorted as `nest` sorts them; `parent` holds rows of the same arrays.
    """
    arrays: list[Array] = [
        np.ascontiguousarray(track, np.int32),
        np.ascontiguousarray(start_ns, np.int64),
        np.ascontiguousarray(end_ns, np.int64),
        np.ascontiguousarray(parent, np.int64),
    ]
    mask = None if eligible is None else np.ascontiguousarray(eligible, np.uint8)
    queries: list[Array] = [
        np.ascontiguousarray(query_track, np.int32),
        np.ascontiguousarray(query_ns, np.int64),
    ]
    found = np.empty(len(query_track), np.int64)
    _library().sonde_enclose(
        len(track),
        *(a.ctypes.data for a in arrays),
        None if mask is None else mask.ctypes.data,
        len(found),
        *(a.ctypes.data for a in queries),
        found.ctypes.data,
    )
    return found


def enclose_in(ops: Table, eligible: Array | None, query_thread: Array, query_ns: Array) -> Array:
    """`enclose` for the `ops` table: the row around each (thread, moment)."""
    return enclose(
        ops.array("thread"),
        ops.array("start_ns"),
        ops.array("end_ns"),
        ops.array("parent"),
        eligible,
        query_thread,
        query_ns,
    )


def roll_up(parent: Array, values: Array) -> Array:
    """Own sums → sums with all children."""
    parents = np.ascontiguousarray(parent, np.int64)
    result = np.array(values, np.int64)
    _library().sonde_roll_up(len(parents), parents.ctypes.data, result.ctypes.data)
    return result


def inherit(parent: Array, values: Array) -> Array:
    """Rows that hold -1 take the value of the nearest ancestor that holds another."""
    parents = np.ascontiguousarray(parent, np.int64)
    result = np.array(values, np.int64)
    _library().sonde_inherit(len(parents), parents.ctypes.data, result.ctypes.data)
    return result


def chains(parent: Array, chosen: Array, label: Array) -> tuple[Array, Array, Array]:
    """The chain of chosen rows above each row, itself included, as a node of a prefix tree.

    Returns each row's node (-1 for an empty chain) and, by node, its parent node
    and its label. A parent node has a smaller number than its children.
    """
    parents = np.ascontiguousarray(parent, np.int64)
    mask = np.ascontiguousarray(chosen, np.uint8)
    labels = np.ascontiguousarray(label, np.int32)
    count = len(parents)
    node, node_parent = np.empty(count, np.int64), np.empty(count, np.int64)
    node_label = np.empty(count, np.int32)
    nodes = _library().sonde_chains(
        count,
        *(a.ctypes.data for a in (parents, mask, labels, node, node_parent, node_label)),
    )
    return node, node_parent[:nodes].copy(), node_label[:nodes].copy()
