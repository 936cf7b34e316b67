"""FLOPs and bytes of operators, from the shapes that the profiler recorded.

Enters: rows of `ops`. Leaves: FLOPs (2 per multiply-add) and the bytes that must
move, NaN where the operator or its shapes are not known.

Only the operator that does the work counts, never the one that calls it:
`aten::addmm` and not `aten::linear`, `aten::convolution` and not
`aten::conv2d`; and nothing counts inside an operator that counts. So sums over
all rows are right.

Against torch's FlopCounterMode: equal for matrix products; convolutions here
leave out the taps that fall into the padding, and the gradient of grouped
weights counts once, not once per group; attention on the CPU, recurrent
layers, norms and element-wise operators count here and not there; causal
attention counts half here, since half is not computed, and nothing where the
trace does not say whether it is causal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import group, parent_rows
from sonde.analyze.base.nesting import skip
from sonde.analyze.ops.arguments import Arguments, Dims, parse
from sonde.analyze.primitives import problems
from sonde.analyze.primitives.cost import UNKNOWN, Cost
from sonde.columns import Array, Table

Counter = Callable[[Arguments], Cost]


def of_operator(name: str, shapes: str | None, types: str | None, values: str | None) -> Cost:
    """Cost of one call by its recorded arguments."""
    arguments = parse(shapes, types, values)
    counter = COUNTERS.get(_plain(name))
    return counter(arguments) if counter and arguments else UNKNOWN


@dataclass(frozen=True)
class OpCosts:
    """Columns over `ops`; NaN where an operator or its shapes are not known."""

    flops: Array
    bytes: Array
    item_bytes: Array  # size of an element of the first operand; 0 when unknown
    is_matrix: Array  # the outermost product, convolution, attention or recurrent layer: nothing counts twice


def op_costs(ops: Table) -> OpCosts:
    """The cost of every row; each distinct call is worked out once."""
    columns = [ops.text(name) for name in ("name", "shapes", "dtypes", "inputs")]
    costs = OpCosts(
        np.full(len(ops), np.nan),
        np.full(len(ops), np.nan),
        np.zeros(len(ops), np.int64),
        np.zeros(len(ops), np.bool_),
    )
    if not len(ops):
        return costs
    names = columns[0]
    known = np.isin(names.codes, [i for i, n in enumerate(names.values) if _plain(n) in COUNTERS])
    rows = np.flatnonzero(known & (skip(parent_rows(ops), known) < 0))
    if not len(rows):
        return costs
    inverse, first = group(*(c.codes[rows] for c in columns))
    calls = zip(*(c.take(rows[first]).tolist() for c in columns), strict=True)
    asked = {name: name in MATRIX for name in map(_plain, names.values)}  # no other counter looks at values
    found = [_worked_out(*call[:3], call[3] if asked[_plain(call[0])] else None) for call in calls]
    for column, values in zip(
        (costs.flops, costs.bytes, costs.item_bytes, costs.is_matrix), zip(*found, strict=True), strict=True
    ):
        column[rows] = np.array(values)[inverse]
    return costs


@functools.lru_cache(maxsize=1 << 15)  # the tables are linked first and looked at later: the same calls again
def _worked_out(
    name: str, shapes: str | None, types: str | None, values: str | None
) -> tuple[float, float, int, bool]:
    """FLOPs, bytes, bytes of an element, is it matrix work: of one call of a counted operator."""
    plain, arguments = _plain(name), parse(shapes, types, values)
    cost = COUNTERS[plain](arguments) if arguments else UNKNOWN
    size = arguments.element_bytes(OPERAND.get(plain, 0)) if arguments else 0
    return cost.flops, cost.bytes, size, plain in MATRIX


def _plain(name: str) -> str:
    return name.removesuffix("_") if name.startswith("aten::") else name


def _product(first: int) -> Counter:
    """A matrix product of the arguments `first` and `first + 1`, batched or not."""

    def count(arguments: Arguments) -> Cost:
        left, right = arguments.dims(first), arguments.dims(first + 1)
        if not left or not right or left[-1] != right[0 if len(right) == 1 else -2]:
            return UNKNOWN
        columns = 1 if len(right) == 1 else right[-1]
        result = math.prod(left[:-1]) * columns
        size = arguments.size_bytes(first) + arguments.size_bytes(first + 1)
        size += result * arguments.element_bytes(first)
        if first:  # the addend is read once, at its own size
            size += arguments.size_bytes(0)
        return Cost(2.0 * result * left[-1], size)

    return count


def _convolution(arguments: Arguments) -> Cost:
    source, weight = arguments.dims(0), arguments.dims(1)
    steps = [arguments.ints(i) for i in (3, 4, 5)]
    transposed, extra, groups = arguments.flag(6), arguments.ints(7), arguments.ints(8)
    return _convolve(arguments, source, weight, steps, transposed, extra, groups, passes=1)


def _convolution_backward(arguments: Arguments) -> Cost:
    """One pass for the gradient of the input and one for that of the weights, where asked for."""
    source, weight = arguments.dims(1), arguments.dims(2)
    steps = [arguments.ints(i) for i in (4, 5, 6)]
    transposed, extra, groups = arguments.flag(7), arguments.ints(8), arguments.ints(9)
    wanted = arguments.ints(10)
    if wanted is None or len(wanted) < 2:
        return UNKNOWN
    passes = int(bool(wanted[0])) + int(bool(wanted[1]))
    return _convolve(arguments, source, weight, steps, transposed, extra, groups, passes)


def _convolve(
    arguments: Arguments,
    source: Dims | None,
    weight: Dims | None,
    steps: list[list[int] | None],
    transposed: bool | None,
    extra: list[int] | None,
    groups: list[int] | None,
    passes: int,
) -> Cost:
    if source is None or weight is None or transposed is None or not groups or groups[0] < 1:
        return UNKNOWN
    axes = len(weight) - 2
    # Each setting is given per axis, or once for all of them.
    given = [None if s is None else s * axes if len(s) == 1 else s for s in (*steps, extra)]
    if axes < 1 or len(source) != axes + 2 or any(s is None or len(s) != axes for s in given):
        return UNKNOWN
    strides, pads, dilations, extras = (s for s in given if s is not None)
    touched, spatial_out = 1, []
    for axis in range(axes):
        size_in, kernel = source[axis + 2], weight[axis + 2]
        stride, pad, dilation = strides[axis], pads[axis], dilations[axis]
        if stride < 1 or dilation < 1 or kernel < 1:
            return UNKNOWN
        reach = dilation * (kernel - 1) + 1
        if transposed:
            size_out = (size_in - 1) * stride - 2 * pad + reach + extras[axis]
            touched *= problems.taps(size_out, size_in, kernel, stride, dilation - 1, pad)
        else:
            size_out = (size_in + 2 * pad - reach) // stride + 1
            touched *= problems.taps(size_in, size_out, kernel, stride, dilation - 1, pad)
        spatial_out.append(size_out)
    # weight: out x in/groups x kernel, or in x out/groups x kernel when transposed.
    channels_out = weight[1] * groups[0] if transposed else weight[0]
    element = arguments.element_bytes(0)
    result = source[0] * channels_out * math.prod(spatial_out)
    moved = (math.prod(source) + math.prod(weight) + result) * element
    return Cost(2.0 * source[0] * weight[0] * weight[1] * touched * passes, float(moved * passes))


def _attention(first: int, scale: float, causal_at: int) -> Counter:
    """Query, key and value from argument `first` on, as batch x heads x length x width."""

    def count(arguments: Arguments) -> Cost:
        query, key, value = (arguments.dims(first + i) for i in range(3))
        causal = arguments.flag(causal_at)
        if not query or not key or not value or len(query) < 3 or len(key) < 3 or len(value) < 3:
            return UNKNOWN
        if causal is None:
            return UNKNOWN
        flops = 2.0 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
        if causal:
            flops /= 2
        out = math.prod(query[:-1]) * value[-1] * arguments.element_bytes(first)
        size = sum(arguments.size_bytes(first + i) for i in range(3)) + out
        return Cost(flops * scale, size * (2 if scale > 1 else 1))

    return count


def _recurrent(passes: int) -> Counter:
    """mkldnn_rnn_layer: input, weights of input and of state, biases, …"""

    def count(arguments: Arguments) -> Cost:
        source, weights_in, weights_state = (arguments.dims(i) for i in range(3))
        if not source or len(source) != 3 or not weights_in or not weights_state:
            return UNKNOWN
        flops = 2.0 * source[0] * source[1] * (math.prod(weights_in) + math.prod(weights_state))
        size = sum(arguments.size_bytes(i) for i in range(7))
        size += source[0] * source[1] * weights_state[-1] * arguments.element_bytes(0)
        return Cost(flops * passes, size * passes)

    return count


def _elementwise(per_element: float, outputs: int = 1, large: int | None = None) -> Counter:
    """Every tensor argument (or the first `large`) is read, the broadcast result written."""

    def count(arguments: Arguments) -> Cost:
        tensors = [(i, dims) for i, dims in enumerate(arguments.tensors) if dims is not None]
        if not tensors:
            return UNKNOWN
        elements = _broadcast([dims for _, dims in tensors[:large]])
        if elements is None:
            return UNKNOWN
        size = sum(float(math.prod(dims) * arguments.element_bytes(i)) for i, dims in tensors)
        return Cost(
            per_element * elements, size + outputs * elements * arguments.element_bytes(tensors[0][0])
        )

    return count


def _reduction(arguments: Arguments) -> Cost:
    dims = arguments.dims(0)
    return UNKNOWN if dims is None else Cost(float(math.prod(dims)), arguments.size_bytes(0))


def _copy(arguments: Arguments) -> Cost:
    if arguments.dims(0) is None or arguments.dims(1) is None:
        return UNKNOWN
    return Cost(0.0, arguments.size_bytes(0) + arguments.size_bytes(1))


def _broadcast(shapes: list[Dims]) -> int | None:
    if all(shape == shapes[0] for shape in shapes):
        return math.prod(shapes[0])
    rank = max(map(len, shapes))
    total = 1
    for axis in range(1, rank + 1):
        sizes = {s[-axis] for s in shapes if len(s) >= axis} - {1}
        if len(sizes) > 1:
            return None
        total *= sizes.pop() if sizes else 1
    return total


_ONE = "add sub mul div rsub neg abs relu clamp_min clamp_max clamp threshold maximum minimum where "
_ONE += "eq ne lt le gt ge square reciprocal masked_fill leaky_relu hardtanh bitwise_and logical_not"
_SOME = "exp log sqrt rsqrt tanh sigmoid gelu silu erf pow cos sin log1p softplus elu hardswish mish"

_SDPA = "aten::_scaled_dot_product_"
# The counters of matrix work, the only one that tensor cores and matrix units do.
MATRIX: dict[str, Counter] = {
    "aten::mm": _product(0),
    "aten::bmm": _product(0),
    "aten::dot": _product(0),
    "aten::vdot": _product(0),
    "aten::addmm": _product(1),
    "aten::baddbmm": _product(1),
    "aten::addbmm": _product(1),
    "aten::addmv": _product(1),  # what aten::mv calls
    "aten::_int_mm": _product(0),
    "aten::_scaled_mm": _product(0),
    "aten::convolution": _convolution,
    "aten::convolution_overrideable": _convolution,
    "aten::convolution_backward": _convolution_backward,
    "aten::mkldnn_rnn_layer": _recurrent(1),
    "aten::mkldnn_rnn_layer_backward": _recurrent(2),
    # Forward is two products, backward five: two and a half times as much.
    f"{_SDPA}flash_attention_for_cpu": _attention(0, 1.0, causal_at=4),
    f"{_SDPA}flash_attention_for_cpu_backward": _attention(1, 2.5, causal_at=7),
    f"{_SDPA}flash_attention": _attention(0, 1.0, causal_at=4),
    f"{_SDPA}flash_attention_backward": _attention(1, 2.5, causal_at=11),
    f"{_SDPA}efficient_attention": _attention(0, 1.0, causal_at=6),
    f"{_SDPA}efficient_attention_backward": _attention(1, 2.5, causal_at=11),
    f"{_SDPA}cudnn_attention": _attention(0, 1.0, causal_at=6),
    f"{_SDPA}cudnn_attention_backward": _attention(1, 2.5, causal_at=14),
    f"{_SDPA}fused_attention_overrideable": _attention(0, 1.0, causal_at=5),
}
# Where the first factor stands, when it is not the first argument.
OPERAND = {"aten::addmm": 1, "aten::baddbmm": 1, "aten::addbmm": 1, "aten::addmv": 1}

COUNTERS: dict[str, Counter] = {
    **MATRIX,
    "aten::native_batch_norm": _elementwise(5.0, large=1),
    "aten::native_batch_norm_backward": _elementwise(8.0, large=2),
    "aten::native_layer_norm": _elementwise(5.0, large=1),
    "aten::native_layer_norm_backward": _elementwise(8.0, large=2),
    "aten::native_group_norm": _elementwise(5.0, large=1),
    "aten::_softmax": _elementwise(5.0),
    "aten::_log_softmax": _elementwise(5.0),
    "aten::_softmax_backward_data": _elementwise(3.0),
    "aten::_log_softmax_backward_data": _elementwise(3.0),
    "aten::threshold_backward": _elementwise(1.0),
    "aten::gelu_backward": _elementwise(8.0),
    "aten::addcmul": _elementwise(3.0),
    "aten::addcdiv": _elementwise(3.0),
    "aten::lerp": _elementwise(3.0),
    "aten::sum": _reduction,
    "aten::mean": _reduction,
    "aten::amax": _reduction,
    "aten::copy": _copy,
    **{f"aten::{name}": _elementwise(1.0) for name in _ONE.split()},
    **{f"aten::{name}": _elementwise(4.0) for name in _SOME.split()},
}
