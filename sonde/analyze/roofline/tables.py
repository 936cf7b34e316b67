"""Operators and primitives held against a roof: one row per distinct problem, most to gain first.

Columns: calls, total_ms, flops and bytes (of all calls), intensity, bound,
roof_ms, efficiency, gflops_s, saving_ms. Rows whose FLOPs and bytes are both
unknown are left out; `coverage` says which share of the time the rows hold.
"""

from __future__ import annotations

import numpy as np

from sonde import json_text
from sonde.analyze.primitives.table import executed
from sonde.analyze.roofline.bounds import Roof, place, saving_ms
from sonde.columns import Array, Column, Table, Text

_TYPES = {"float": "f32", "double": "f64", "c10::BFloat16": "bf16", "c10::Half": "f16"}


def op_roofline(ops: Table, roof: Roof) -> Table:
    """By operator and input shapes. Time is the whole call: what runs inside is part of its work."""
    known = ~(np.isnan(ops.array("flops")) & np.isnan(ops.array("bytes")))
    rows = ops.take(known)
    time_ms = (rows.array("end_ns") - rows.array("start_ns")) / 1e6
    types = rows.text("dtypes")
    table = _held(
        rows, ("name", "shapes", "dtypes"), time_ms, [_op_type(v) for v in types.values], types, roof
    )
    return Table("op_roofline", table)


def primitive_roofline(primitives: Table, roof: Roof) -> Table:
    """By kind, implementation, direction and problem."""
    known = ~(np.isnan(primitives.array("flops")) & np.isnan(primitives.array("bytes")))
    rows = primitives.take(known & executed(primitives) & (primitives.array("time_ms") > 0))
    types = rows.text("dtypes")
    by = ("kind", "implementation", "direction", "shape", "dtypes")
    table = _held(rows, by, rows.array("time_ms"), [_first_type(v) for v in types.values], types, roof)
    return Table("primitive_roofline", table)


def _held(
    rows: Table, by: tuple[str, ...], time_ms: Array, type_names: list[str], types: Text, roof: Roof
) -> dict[str, Column]:
    if not len(rows):
        empty = np.empty(0)
        numbers = ("calls", "total_ms", "flops", "bytes", "intensity", "roof_ms", "efficiency", "gflops_s")
        return {
            **{name: Text.full(0, None) for name in (*by, "bound")},
            **dict.fromkeys((*numbers, "saving_ms"), empty),
        }
    codes = np.stack([rows.text(name).codes for name in by])
    _, first, key = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    key, count = key.reshape(-1), len(first)
    calls = np.bincount(key, minlength=count)
    total = np.bincount(key, time_ms, count)
    # Per call: strides, masks and fused operations may differ where shapes do not.
    flops = np.bincount(key, rows.array("flops"), count) / calls
    size = np.bincount(key, rows.array("bytes"), count) / calls
    names = [*type_names, "f32"]
    per_call = place(flops, size, total / calls, [names[c] for c in types.codes[first]], roof)
    gain = saving_ms(total, per_call)
    order = np.lexsort((-total, -gain))
    columns: dict[str, Column] = {name: rows.text(name).take(first[order]) for name in by}
    columns["bound"] = Text.of([str(b) for b in per_call.bound[order]])
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = flops * calls / total / 1e6
    numbers_by_name = {
        "calls": calls,
        "total_ms": total,
        "flops": flops * calls,
        "bytes": size * calls,
        "intensity": per_call.intensity,
        "roof_ms": per_call.roof_ms * calls,
        "efficiency": per_call.efficiency,
        "gflops_s": rate,
        "saving_ms": gain,
    }
    columns |= {name: values[order] for name, values in numbers_by_name.items()}
    return columns


def _op_type(text: str) -> str:
    """The type of the first tensor argument."""
    types = [t for t in json_text.list_of(text) or () if isinstance(t, str)]
    return next((_TYPES[t] for t in types if t in _TYPES), "f32")


def _first_type(text: str) -> str:
    types = json_text.list_of(text)
    return str(types[0]) if types and types[0] else "f32"
