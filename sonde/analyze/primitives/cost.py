"""FLOPs and bytes of one primitive, from what its log line says.

Bytes are what must move at least once: every input read and every output
written, block padding included, plus the extra passes that the operation
itself needs (a `sum` post-op reads the destination; a norm in training reads
its input twice). NaN when the line does not tell a data type or a shape.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sonde.analyze.primitives import descriptors, problems
from sonde.analyze.primitives.descriptors import SIZE_BYTES, Descriptor
from sonde.analyze.primitives.problems import Dims, Problem


@dataclass(frozen=True)
class Cost:
    """NaN where unknown."""

    flops: float
    bytes: float


UNKNOWN = Cost(math.nan, math.nan)


def of_primitive(
    kind: str, direction: str, layouts: str, attributes: str, auxiliary: str, shape: str
) -> Cost:
    """Cost of one call, by the fields of its line."""
    problem = problems.parse(kind, direction, auxiliary, shape)
    if problem is None:
        return UNKNOWN
    return Cost(problem.flops, _bytes(kind, direction, layouts, attributes, auxiliary, problem))


def post_ops(attributes: str) -> list[str]:
    """Fused operations as printed: `attr-post-ops:a+b`, or `post_ops:'a;b;'` before v2.3."""
    new = re.search(r"attr-post-ops:(\S+)", attributes)
    if new:
        return [item for item in new[1].strip("'").replace(";", "+").split("+") if item]
    old = re.search(r"post_ops:'([^']*)'", attributes)
    return [item for item in old[1].split(";") if item] if old else []


def _bytes(
    kind: str, direction: str, layouts: str, attributes: str, auxiliary: str, problem: Problem
) -> float:
    found = descriptors.parse(layouts)
    if not found or any(d is None for d in found):
        return math.nan
    present = [d for d in found if d is not None and d.present]
    total = 0.0
    seen: dict[str, int] = {}
    for descriptor in present:
        name = descriptor.argument
        dims = _dims(problem, name, seen)
        if dims is None:
            return math.nan
        total += descriptor.size_bytes(dims) * _passes(kind, direction, name, auxiliary)
    return total + _fused_bytes(attributes, present, problem)


def _dims(problem: Problem, argument: str, seen: dict[str, int]) -> Dims | None:
    """Dims of an argument: by name, without `diff_`, or the next one of a numbered family."""
    base = argument.removeprefix("diff_")
    base = {"bias": "bia", "weights": "wei"}.get(base, base) if base not in problem.dims else base
    family = re.sub(r"\d+$", "", base)
    if f"{family}*" in problem.dims:
        shapes = problem.dims[f"{family}*"]
        index = seen.get(family, 0)
        seen[family] = index + 1
        return shapes[min(index, len(shapes) - 1)]
    shapes = problem.dims.get(base) or problem.dims.get(family) or []
    return shapes[0] if shapes else None


def _passes(kind: str, direction: str, argument: str, auxiliary: str) -> int:
    """How often a tensor crosses the bus."""
    training_norm = (
        kind == "batch_normalization"
        and direction == "forward_training"
        and "G" not in auxiliary.partition("flags:")[2]
    )
    if argument == "data":  # stands for source and destination in one
        return 3 if training_norm else 2 if direction.startswith("forward") else 1
    if argument == "diff":  # gradient in and gradient out
        return 2
    return 2 if training_norm and argument == "src" else 1


def _fused_bytes(attributes: str, present: list[Descriptor], problem: Problem) -> float:
    """Extra reads of fused operations: `sum` reads the destination, a binary its other operand."""
    result = next((d for d in present if d.argument == "dst"), None)
    shapes = problem.dims.get("dst")
    if result is None or not shapes:
        return 0.0
    dims = shapes[0]
    total = 0.0
    for item in post_ops(attributes):
        name, _, rest = item.partition(":")
        if name == "sum":
            total += result.size_bytes(dims)
        elif name.startswith("binary"):
            data_type, _, mask = rest.partition(":")
            bits = re.match(r"\d+", mask)
            if data_type not in SIZE_BYTES or not bits:
                return math.nan
            # A set bit says that the operand has that dimension of the destination.
            shared = [d for i, d in enumerate(dims) if int(bits[0]) >> i & 1]
            total += math.prod(shared) * SIZE_BYTES[data_type]
    return total
