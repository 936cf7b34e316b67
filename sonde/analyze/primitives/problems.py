"""Problem descriptions of oneDNN logs: what is computed, as numbers.

Enters: the kind of primitive, its direction, its auxiliary and problem fields.
Leaves: `Problem`: floating point operations (2 per multiply-add, as benchdnn
counts them) and the logical dims of each tensor by argument name.
None when the text does not fit: nothing is guessed.

Convolutions count only the taps that fall inside the input, so padding is
exact: AlexNet's first layer at batch 256 is 53.97 GFLOP, and torchvision's
variant of it, padded by two, 35.63 instead of the 35.98 of a plain product.
Bandwidth-bound kinds get nominal counts (one per element and operand, five for
a softmax or a norm in training); reorders, concats and shuffles compute nothing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

Dims = tuple[int, ...]

_MAX_KERNEL = 100_000  # larger than any real kernel; keeps a damaged log from costing minutes
_KEYED = re.compile(r"(?:_?[a-z]+-?\d+(?:\.\d+(?:e-?\d+)?)?)+_?")
_PAIR = re.compile(r"([a-z]+)(-?\d+(?:\.\d+(?:e-?\d+)?)?)")
_DIMS = re.compile(r"\d+(?:x\d+)*")
_GATES = {"vanilla_rnn": 1, "vanilla_lstm": 4, "vanilla_gru": 3, "lbr_gru": 3, "vanilla_augru": 3}
_GATES["lbr_augru"] = 3


@dataclass(frozen=True)
class Problem:
    """What one call computes. `dims` by argument; a name ending in `*` covers every such argument."""

    flops: float
    dims: dict[str, list[Dims]] = field(default_factory=dict)


def parse(kind: str, direction: str, auxiliary: str, text: str) -> Problem | None:
    """The problem of one verbose line, None when its text is not understood."""
    kind = re.sub(r"_v\d+$", "", kind)
    if kind in ("convolution", "deconvolution"):
        return _convolution(kind, text)
    if kind in ("matmul", "gemm_api", "brgemm", "gemm"):
        return _matmul(auxiliary, text)
    if kind == "inner_product":
        return _inner_product(text)
    if kind == "rnn":
        return _recurrent(direction, auxiliary, text)
    if kind in ("batch_normalization", "lrn", "group_normalization"):
        return _normalized_picture(kind, direction, auxiliary, text)
    if kind in ("pooling", "resampling"):
        return _windowed(kind, text)
    if kind == "sdpa":
        return _attention(direction, text)
    return _elementwise(kind, direction, text)


def keyed(text: str) -> dict[str, float] | None:
    """`mb2_ic3oc16_ih32oh32kh3` as a mapping; the order of keys never matters."""
    if not _KEYED.fullmatch(text):
        return None
    return {key: float(value) for key, value in _PAIR.findall(text)}


def dims_of(text: str) -> Dims | None:
    """`2x16x7` as a tuple."""
    return tuple(map(int, text.split("x"))) if _DIMS.fullmatch(text) else None


def taps(size_in: int, size_out: int, kernel: int, stride: int, dilation: int, pad: int) -> int:
    """Pairs of output position and kernel element that touch the input, in one dimension.

    Σ over o, k of [0 <= o*stride - pad + k*(dilation+1) < size_in], counted per
    kernel element in closed form. `dilation` 0 is dense, as oneDNN prints it.
    """
    count = 0
    for k in range(kernel):
        offset = k * (dilation + 1) - pad
        first = max(0, -(offset // stride))  # ceil(-offset / stride)
        last = min(size_out - 1, (size_in - 1 - offset) // stride)
        count += max(0, last - first + 1)
    return count


def _convolution(kind: str, text: str) -> Problem | None:
    keys = keyed(text)
    if keys is None or not {"mb", "ic", "oc"} <= keys.keys():
        return None
    v = {k: int(n) for k, n in keys.items()}
    groups = v.get("g", 1)
    spatial_in: Dims = ()
    spatial_out: Dims = ()
    kernels: Dims = ()
    touched = 1
    for axis in "dhw":
        if f"i{axis}" not in v:
            continue
        size_in, size_out, kernel = v[f"i{axis}"], v.get(f"o{axis}", 0), v.get(f"k{axis}", 0)
        stride, dilation, pad = v.get(f"s{axis}", 1), v.get(f"d{axis}", 0), v.get(f"p{axis}", 0)
        if stride < 1 or dilation < 0 or not 0 < kernel <= _MAX_KERNEL:
            return None
        # With a stride above the kernel size some of the input is never read.
        read = size_in if stride <= kernel else min(size_in, size_out * kernel)
        reach = (size_out, size_in) if kind == "deconvolution" else (size_in, size_out)
        touched *= taps(*reach, kernel, stride, dilation, pad)
        spatial_in, spatial_out, kernels = (
            (*spatial_in, read),
            (*spatial_out, size_out),
            (*kernels, kernel),
        )
    if not kernels or groups < 1 or v["ic"] % groups or v["oc"] % groups:
        return None
    mb, ic, oc = v["mb"], v["ic"], v["oc"]
    weights: list[Dims] = [(oc, ic // groups, *kernels)]
    if groups > 1:
        weights = [(groups, oc // groups, ic // groups, *kernels)]
    dims: dict[str, list[Dims]] = {
        "src": [(mb, ic, *spatial_in)],
        "wei": weights,
        "bia": [(oc,)],
        "dst": [(mb, oc, *spatial_out)],
    }
    return Problem(2.0 * mb * oc * (ic // groups) * touched, dims)


def _matmul(auxiliary: str, text: str) -> Problem | None:
    parts = [dims_of(part) for part in text.split(":")]
    if len(parts) < 2:
        return None
    left, right = parts[0], parts[1]
    if left is None or right is None or len(left) < 2 or len(left) != len(right) or left[-1] != right[-2]:
        return None
    batch = tuple(max(a, b) for a, b in zip(left[:-2], right[:-2], strict=True))
    repeats = re.search(r"\bbs:(\d+)", auxiliary)  # a ukernel multiplies `bs` pairs in one call
    count = int(repeats[1]) if repeats else 1
    result = (*batch, left[-2], right[-1])
    flops = 2.0 * math.prod(batch) * left[-2] * left[-1] * right[-1] * count
    return Problem(flops, {"src": [left], "wei": [right], "bia": [(right[-1],)], "dst": [result]})


def _inner_product(text: str) -> Problem | None:
    keys = keyed(text)
    if keys is None or not {"mb", "ic", "oc"} <= keys.keys():
        return None
    v = {k: int(n) for k, n in keys.items()}
    spatial = tuple(v[f"i{axis}"] for axis in "dhw" if f"i{axis}" in v)
    mb, ic, oc = v["mb"], v["ic"], v["oc"]
    dims: dict[str, list[Dims]] = {
        "src": [(mb, ic, *spatial)],
        "wei": [(oc, ic, *spatial)],
        "bia": [(oc,)],
        "dst": [(mb, oc)],
    }
    return Problem(2.0 * mb * oc * ic * math.prod(spatial), dims)


def _recurrent(direction: str, auxiliary: str, text: str) -> Problem | None:
    keys = keyed(text)
    algorithm = re.search(r"alg:(\w+)", auxiliary)
    if keys is None or algorithm is None or algorithm[1] not in _GATES:
        return None
    v = {k: int(n) for k, n in keys.items()}
    if "dhc" not in v and "dic" in v:  # v0.x: dic is what was later called dhc
        v["dhc"] = v["dic"]
    if not {"l", "t", "mb", "sic", "slc", "dhc"} <= v.keys():
        return None
    gates = _GATES[algorithm[1]]
    two_ways = "bidirectional" in auxiliary
    ways = 2 if two_ways else 1
    layers, time, mb, sic, slc, dhc = (v[k] for k in ("l", "t", "mb", "sic", "slc", "dhc"))
    dic = v.get("dic", dhc)
    cell = 2.0 * gates * dhc * mb * (sic + slc)
    if dic != dhc:
        cell += 2.0 * dhc * mb * dic
    flops = ways * layers * time * cell * (2 if direction.startswith("backward") else 1)
    wide = dic * (2 if "concat" in auxiliary else 1)
    dims: dict[str, list[Dims]] = {
        "src_layer": [(time, mb, slc)],
        "src_iter": [(layers, ways, mb, sic)],
        "src_iter_c": [(layers, ways, mb, dhc)],
        "wei_layer": [(layers, ways, slc, gates, dhc)],
        "wei_iter": [(layers, ways, sic, gates, dhc)],
        "wei_peephole": [(layers, ways, 3, dhc)],
        "wei_proj": [(layers, ways, dhc, dic)],
        "bias": [(layers, ways, gates + ("lbr" in algorithm[1]), dhc)],
        "dst_layer": [(time, mb, wide)],
        "dst_iter": [(layers, ways, mb, dic)],
        "dst_iter_c": [(layers, ways, mb, dhc)],
    }
    return Problem(flops, dims)


def _normalized_picture(kind: str, direction: str, auxiliary: str, text: str) -> Problem | None:
    keys = keyed(text)
    if keys is None or not {"mb", "ic"} <= keys.keys():
        return None
    v = {k: int(n) for k, n in keys.items()}
    shape = (v["mb"], v["ic"], *(v[f"i{axis}"] for axis in "dhw" if f"i{axis}" in v))
    count = math.prod(shape)
    if kind == "lrn":
        per_element = float(2 * v.get("ls", 5) + 2)
    else:
        flags = re.search(r"flags:(\w*)", auxiliary)
        text_flags = flags[1] if flags else ""
        # v0.x prints a number whose lowest bit is "use global statistics".
        fixed = int(text_flags) & 1 == 1 if text_flags.isdigit() else "G" in text_flags
        per_element = 5.0 if direction != "forward_inference" and not fixed else 2.0
    return Problem(per_element * count, _everything(shape, channels=v["ic"]))


def _windowed(kind: str, text: str) -> Problem | None:
    keys = keyed(text)
    if keys is None or not {"mb", "ic"} <= keys.keys():
        return None
    v = {k: int(n) for k, n in keys.items()}
    axes = [axis for axis in "dhw" if f"i{axis}" in v and f"o{axis}" in v]
    if not axes:
        return None
    source = (v["mb"], v["ic"], *(v[f"i{axis}"] for axis in axes))
    result = (v["mb"], v["ic"], *(v[f"o{axis}"] for axis in axes))
    window = math.prod(v.get(f"k{axis}", 1) for axis in axes) if kind == "pooling" else 2 ** len(axes)
    dims = {"src": [source], "dst": [result], "ws": [result]}
    return Problem(float(math.prod(result) * window), dims)


def _attention(direction: str, text: str) -> Problem | None:
    parts = [dims_of(part) for part in text.split(":")]
    if len(parts) < 3 or any(p is None or len(p) < 2 for p in parts[:3]):
        return None
    query, key, value = (p for p in parts[:3] if p is not None)
    # K is printed as given to the first product: heads x D x keys, or heads x keys x D.
    keys = key[-1] if key[-2] == query[-1] else key[-2]
    flops = 2.0 * math.prod(query[:-2]) * query[-2] * keys * (query[-1] + value[-1])
    return Problem(flops * (2.5 if direction.startswith("backward") else 1.0))


def _elementwise(kind: str, direction: str, text: str) -> Problem | None:
    parts = [dims_of(part) for part in text.split(":")]
    if not parts or any(p is None for p in parts):
        return None
    shapes = [p for p in parts if p is not None]
    first, count = shapes[0], math.prod(shapes[0])
    if kind in ("reorder", "shuffle", "zero_pad", "transform"):
        return Problem(0.0, _everything(first))
    if kind == "concat":
        total = sum(math.prod(s) for s in shapes)
        return Problem(0.0, {"src*": shapes, "dst": [(total,)]})
    if kind == "binary":
        if len({len(s) for s in shapes[:2]}) != 1:
            return None
        result = tuple(max(sizes) for sizes in zip(*shapes[:2], strict=True))
        return Problem(float(math.prod(result)), {"src*": shapes, "dst": [result]})
    if kind == "sum":
        return Problem(float(count), _everything(first))
    if kind == "reduction":
        return Problem(float(count), {"src": [first], "dst": [shapes[-1]]})
    if kind == "prelu":
        dims = {"src": [first], "data": [first], "wei": [shapes[-1]], "dst": [first]}
        return Problem(float(count), dims)
    per_element = {"eltwise": 1.0, "softmax": 5.0, "logsoftmax": 5.0}.get(kind)
    if kind == "layer_normalization":
        per_element = 2.0 if direction == "forward_inference" else 5.0
    if per_element is None:
        return None
    return Problem(per_element * count, _everything(first))


def _everything(shape: Dims, channels: int = 0) -> dict[str, list[Dims]]:
    """Every large tensor has this shape; statistics and scales are per channel or small."""
    dims: dict[str, list[Dims]] = {n: [shape] for n in ("src", "dst", "data", "diff", "ws", "src*")}
    small = (channels,) if channels else ()
    for name in ("stats", "mean", "var", "scale", "shift", "scaleshift", "ss"):
        dims[name] = [small] if channels else [shape[:-1] if name == "stats" else shape[-1:]]
    return dims
