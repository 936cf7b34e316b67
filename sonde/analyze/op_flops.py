"""Floating point operations and bytes of matrix operators, from the shapes in the trace.

Enters: `ops`. Leaves: per row flops and bytes, NaN where the shapes do not tell.
A multiply-add counts as 2 (the unit of torch's FlopCounterMode and of the vendors' peaks). Bytes are those
that must move once: inputs and output, no matter what caches do. Only the operators that do the work are
counted, not the wrappers around them (aten::linear, aten::matmul), so sums over a trace count nothing twice.
Work is per distinct combination of name, shapes, types and scalars.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.columns import Table

ITEM_BYTES = {
    "float": 4,
    "float32": 4,
    "c10::half": 2,
    "c10::bfloat16": 2,
    "double": 8,
    "signed char": 1,
    "int8": 1,
    "unsigned char": 1,
    "c10::float8_e4m3fn": 1,
    "c10::float8_e5m2": 1,
    "c10::float8_e4m3fnuz": 1,
}
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cost:
    """What one call must do. `item_bytes` is the size of an element of the first operand, 0 when unknown."""

    flops: float
    elements: float  # of all operands and the result
    item_bytes: int


@dataclass(frozen=True)
class OpCosts:
    """Columns over `ops`; NaN and 0 where a row is no matrix operator or its shapes are not known."""

    flops: Floats
    bytes: Floats
    item_bytes: npt.NDArray[np.int64]
    is_matrix: npt.NDArray[np.bool_]


def op_costs(ops: Table) -> OpCosts:
    """The cost of each row of `ops`."""
    columns = [ops.text(c) for c in ("name", "shapes", "dtypes", "inputs")]
    wanted = np.isin(columns[0].codes, [i for i, v in enumerate(columns[0].values) if v in FORMULAS])
    rows = np.flatnonzero(wanted)
    flops = np.full(len(ops), np.nan)
    moved = np.full(len(ops), np.nan)
    item = np.zeros(len(ops), np.int64)
    if len(rows):
        key = np.stack([c.codes[rows] for c in columns], axis=1)
        distinct, inverse = np.unique(key, axis=0, return_inverse=True)
        costs = [
            cost_of(*(c.values[k] if k >= 0 else None for c, k in zip(columns, d, strict=True)))
            for d in distinct
        ]
        inverse = inverse.reshape(-1)
        flops[rows] = np.array([c.flops if c else np.nan for c in costs])[inverse]
        moved[rows] = np.array([c.elements * c.item_bytes if c and c.item_bytes else np.nan for c in costs])[
            inverse
        ]
        item[rows] = np.array([c.item_bytes if c else 0 for c in costs])[inverse]
    return OpCosts(flops, moved, item, wanted)


def cost_of(name: str | None, shapes: str | None, dtypes: str | None, inputs: str | None) -> Cost | None:
    """The cost of a call, None when the operator or its shapes are not known."""
    formula = FORMULAS.get(name or "")
    dims, types, scalars = _parse(shapes), _parse(dtypes), _parse(inputs)
    if formula is None or not dims:
        return None
    try:
        flops, elements = formula(dims, scalars)
    except (IndexError, TypeError, ValueError, KeyError):
        return None
    kind = str(types[0]).lower() if types else ""
    return Cost(float(flops), float(elements), ITEM_BYTES.get(kind, 0))


def _parse(text: str | None) -> list[Any]:
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _product(batch: int, m: int, k: int, n: int) -> tuple[float, float]:
    return 2.0 * batch * m * k * n, float(batch) * (m * k + k * n + m * n)


def _mm(dims: list[Any], _: list[Any]) -> tuple[float, float]:
    (m, k), (k2, n) = dims[0], dims[1]
    if k != k2:
        raise ValueError("inner sizes differ")
    return _product(1, m, k, n)


def _addmm(dims: list[Any], scalars: list[Any]) -> tuple[float, float]:
    return _mm(dims[1:3], scalars)


def _bmm(dims: list[Any], _: list[Any]) -> tuple[float, float]:
    (b, m, k), (b2, k2, n) = dims[0], dims[1]
    if (b, k) != (b2, k2):
        raise ValueError("sizes differ")
    return _product(b, m, k, n)


def _baddbmm(dims: list[Any], scalars: list[Any]) -> tuple[float, float]:
    return _bmm(dims[1:3], scalars)


def _numbers(text: str) -> list[int]:
    return [int(x) for x in str(text).strip("[]").split(",") if x.strip()]


def _convolution(dims: list[Any], scalars: list[Any]) -> tuple[float, float]:
    """input, weight, bias, stride, padding, dilation, transposed, output_padding, groups."""
    image, weight = dims[0], dims[1]
    stride, padding, dilation = (_numbers(s) for s in scalars[3:6])
    transposed = str(scalars[6]) == "True"
    rank = len(image) - 2

    def each(values: list[int]) -> list[int]:
        return values * rank if len(values) == 1 else values

    if transposed:
        spatial = image[2:]  # every input element meets every weight of its channel
        out_channels = weight[1] * int(str(scalars[8]))
    else:
        spatial = [
            (size + 2 * p - d * (w - 1) - 1) // s + 1
            for size, p, d, w, s in zip(
                image[2:], each(padding), each(dilation), weight[2:], each(stride), strict=True
            )
        ]
        out_channels = weight[0]
    places = image[0] * math.prod(spatial)
    flops = 2.0 * places * math.prod(weight[2:]) * weight[0] * weight[1]
    return flops, float(math.prod(image) + math.prod(weight) + places * out_channels)


def _convolution_backward(dims: list[Any], scalars: list[Any]) -> tuple[float, float]:
    """grad_output, input, weight, bias_sizes, stride, …, output_mask: a forward per gradient asked for."""
    forward, elements = _convolution(dims[1:], scalars[1:])
    mask = str(scalars[-1]) if scalars else ""
    asked = mask.strip("[]").replace(" ", "").split(",")[:2].count("True") if "," in mask else 2
    return forward * asked, elements * asked


def _attention(dims: list[Any], _: list[Any]) -> tuple[float, float]:
    """query, key, value as [batch, heads, length, size]. A causal mask is not known here."""
    query, key, value = dims[0], dims[1], dims[2]
    batch = math.prod(query[:-2])
    flops = 2.0 * batch * query[-2] * key[-2] * (query[-1] + value[-1])
    out = batch * query[-2] * value[-1]
    return flops, float(math.prod(query) + math.prod(key) + math.prod(value) + out)


def _attention_backward(dims: list[Any], scalars: list[Any]) -> tuple[float, float]:
    """grad_out, query, key, value: five products instead of two."""
    forward, elements = _attention(dims[1:4], scalars)
    return 2.5 * forward, 2 * elements


FORMULAS: dict[str, Callable[[list[Any], list[Any]], tuple[float, float]]] = {
    "aten::mm": _mm,
    "aten::_int_mm": _mm,
    "aten::_scaled_mm": _mm,
    "aten::addmm": _addmm,
    "aten::addmm_": _addmm,
    "aten::bmm": _bmm,
    "aten::baddbmm": _baddbmm,
    "aten::baddbmm_": _baddbmm,
    "aten::convolution": _convolution,
    "aten::convolution_backward": _convolution_backward,
    **{
        f"aten::_scaled_dot_product_{kind}_attention": _attention
        for kind in ("flash", "efficient", "cudnn", "fused")
    },
    **{
        f"aten::_scaled_dot_product_{kind}_attention_backward": _attention_backward
        for kind in ("flash", "efficient", "cudnn")
    },
}
