"""Cheaper algorithm: a transform, a convolution or a chain of products for which the same result takes far less work.

Condition: at least 10 % of the step in
    a Fourier transform of a length with a prime factor above 100 that is padded, so another length can be chosen;
    a direct convolution (stride 1) of 128 taps or more that has 8 times the operations of one by Fourier transforms;
    a product of two matrices that goes into a third one, where the other order has at most half of the operations.
Saving: of a transform 30 to 90 %; of a convolution half to all, of products a third to all of the spared operations.
Not for: transforms whose length is that of the data; small kernels; products of which the text does not tell the chain.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sonde.analyze.samples.stack_index import Mask
from sonde.columns import Array
from sonde.insights.calls import Calls, elements, parsed
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.10
LARGEST_PRIME, SHORTEST = 100, 512
FEWEST_TAPS, LEAST_RATIO = 128, 8.0
LEAST_ORDER = 2.0
# Of a step of a transform on n numbers; a product of complex numbers has 8 operations (of reals half as many).
PER_STAGE, PER_PRODUCT = 2.5, 4.0
_TRANSFORM = r"^aten::_fft_(r2c|c2c|c2r)$"
_PADDED = re.compile(r"^aten::fft_(rfft|fft|hfft|irfft|ifft)$")
_CONVOLUTION = (
    r"^aten::(convolution|convolution_backward|mkldnn_convolution|_convolution|thnn_conv2d|_slow_conv2d_\w+)$"
)
_PRODUCT = r"^aten::(mm|mv)$"
_CHANGES = r"^aten::(_?softmax|_?log_softmax|exp|relu|sigmoid|tanh|gelu|clamp\w*|dropout|pow|tril|triu)_?$"


@dataclass(frozen=True)
class Found:
    """`won`: part of the time of the calls."""

    calls: Mask
    operator: str  # pattern of their names
    file: str
    line: int
    won: tuple[float, float]
    title: str
    why: str
    told: str
    fix: str


def judge(subject: Subject) -> Iterator[Finding]:
    calls = subject.calls
    for one in (*_transforms(calls), *_convolutions(calls), *_products(subject, calls)):
        seen = calls.share(one.calls)
        places = {calls.place(row) for row in np.flatnonzero(one.calls).tolist()}
        who = subject.caused
        here = np.array([(p.file, p.line) in places for p in who.all], np.bool_)
        claim = subject.host_in_op(one.operator) & here[who.place]
        share = subject.share(claim)
        if min(seen, share.middle) < LEAST_SHARE:
            continue
        yield Finding(
            Insight(
                rule=RULE.name,
                title=one.title.format(share=share.middle),
                why=one.why,
                evidence=(
                    Evidence(one.told, "line", "", one.file, one.line),
                    *subject.lines(claim, 3),
                ),
                saving=subject.saving(share, *one.won),
                confidence="medium",
                fix=one.fix,
                experiment=Experiment(
                    "patch", note="sums are ordered differently: results differ in the last bits"
                ),
                file=one.file,
                line=one.line,
            ),
            claim,
        )


def _transforms(calls: Calls) -> Iterator[Found]:
    """Padded to a length that only a slow algorithm can transform."""
    slow = np.zeros(len(calls.ops), np.bool_)
    worst, length = -1, 0
    padded = _padded(calls)
    for row in np.flatnonzero(calls.named(_TRANSFORM) & calls.main).tolist():
        size = _length(calls, row)
        if size in padded and _largest_prime(size) > LARGEST_PRIME:
            slow[row] = True
            if worst < 0 or calls.self_ns[row] > calls.self_ns[worst]:
                worst, length = row, size
    if worst < 0:
        return
    file, line = calls.place(worst)
    fast = _fast(length)
    yield Found(
        slow, _TRANSFORM, file, line, (0.3, 0.9),
        f"Fourier transforms of length {length} take {{share:.0%}} of each step: {fast} would be fast",
        f"{length} has the prime factor {_largest_prime(length)}, for which no fast transform exists.",
        f"{calls.ops.text('name')[worst]} on {calls.shapes(worst)[0]}, padded to {length}",
        f"n = {fast}   # a product of 2, 3, 5 and 7; cut the result to the length that is needed",
    )  # fmt: skip


def _padded(calls: Calls) -> set[int]:
    """Lengths that some transform pads its data to: no property of the data, but a choice."""
    found = set()
    for row in np.flatnonzero(calls.named(_PADDED.pattern)).tolist():
        shapes, inputs = calls.shapes(row), parsed(calls.ops.text("inputs")[row])
        size, at = (_number(inputs[n]) if len(inputs) > n else None for n in (1, 2))
        if size is None or size < SHORTEST or not elements(shapes[0] if shapes else None):
            continue
        name = calls.ops.text("name")[row] or ""
        shape = shapes[0]
        if not name.startswith("aten::fft_i") and shape[-1 if at is None else at % len(shape)] < size:
            found.add(size)
    return found


def _length(calls: Calls, row: int) -> int:
    shapes, inputs = calls.shapes(row), parsed(calls.ops.text("inputs")[row])
    if not shapes or not elements(shapes[0]) or len(inputs) < 2:
        return 0
    if (calls.ops.text("name")[row] or "").endswith("c2r"):
        return _number(inputs[3]) or 0 if len(inputs) > 3 else 0
    along = [n for n in _list(inputs[1]) if -len(shapes[0]) <= n < len(shapes[0])]
    return int(shapes[0][along[-1]]) if along else 0


def _largest_prime(n: int) -> int:
    largest, factor = 1, 2
    while factor * factor <= n:
        while n % factor == 0:
            largest, n = factor, n // factor
        factor += 1
    return max(largest, n)


def _fast(n: int) -> int:
    while _largest_prime(n) > 7:
        n += 1
    return n


def _convolutions(calls: Calls) -> Iterator[Found]:
    best: dict[tuple[str, int], tuple[int, float, int]] = {}
    for row in np.flatnonzero(calls.named(r"^aten::convolution$") & calls.main).tolist():
        ratio, taps = _convolution(calls.shapes(row), parsed(calls.ops.text("inputs")[row]))
        place = calls.place(row)
        if ratio < LEAST_RATIO or taps < FEWEST_TAPS or place[1] <= 0:
            continue
        if place not in best or calls.duration_ns[row] > calls.duration_ns[best[place][0]]:
            best[place] = row, ratio, taps
    ops = calls.ops
    for (file, line), (row, ratio, taps) in best.items():
        mine = calls.named(_CONVOLUTION) & ops.text("file").equals(file) & (ops.array("line") == line)
        won = 1 - 1 / ratio
        yield Found(
            mine, _CONVOLUTION, file, line, (0.5 * won, won),
            f"A direct convolution of {taps} taps takes {{share:.0%}} of each step",
            "Each number of the result takes all taps; by Fourier transforms the work hardly grows with them.",
            f"convolution of {calls.shapes(row)[0]} with {calls.shapes(row)[1]}: {ratio:.0f} times the operations "
            "of one by Fourier transforms",
            "n = x.shape[-1] + taps - 1   # or above, a product of 2, 3, 5 and 7\n"
            "y = torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(kernel, n), n)   # flip: conv1d correlates",
        )  # fmt: skip


def _convolution(shapes: list[Any], inputs: list[Any]) -> tuple[float, int]:
    """Operations of the direct way against those by transforms, and taps; (0, 0) where only the direct way does."""
    if len(shapes) < 2 or not elements(shapes[0]) or not elements(shapes[1]) or len(inputs) < 9:
        return 0.0, 0
    data, kernel = shapes[0], shapes[1]
    stride, padding, dilation = (_list(inputs[n]) for n in (3, 4, 5))
    if len(data) != len(kernel) or any(n != 1 for n in (*stride, *dilation)) or str(inputs[6]) == "True":
        return 0.0, 0
    groups = _number(inputs[8]) or 1
    taps = math.prod(kernel[2:])
    padding = padding * len(data[2:]) if len(padding) == 1 else padding
    if len(padding) != len(data[2:]):
        return 0.0, 0
    sizes = [n + 2 * p for n, p in zip(data[2:], padding, strict=True)]
    results = math.prod(max(n - k + 1, 1) for n, k in zip(sizes, kernel[2:], strict=True))
    batch, inside, outside = data[0], data[1], kernel[0]
    direct = 2.0 * batch * outside * kernel[1] * taps * results
    numbers = math.prod(sizes)
    transforms = batch * inside + batch * outside + outside * kernel[1]
    fast = PER_STAGE * numbers * math.log2(max(numbers, 2)) * transforms
    fast += PER_PRODUCT * numbers * batch * outside * inside / groups
    return direct / fast, taps


def _products(subject: Subject, calls: Calls) -> Iterator[Found]:
    ops = calls.ops
    line = ops.array("line")
    forward = ~calls.backward & calls.main
    for file, facts in subject.source_facts.items():
        here = ops.text("file").equals(file)
        for made, used in facts.products:
            first, second = (
                np.flatnonzero(calls.named(_PRODUCT) & forward & here & (line == at)).tolist()
                for at in (made, used)
            )
            if not first or not second:
                continue
            orders = [_order(calls, a, b, len(second) / len(first)) for a in first for b in second if a != b]
            best = max(orders, default=None, key=lambda order: order.ratio)
            between = np.flatnonzero(forward & here & (line >= made) & (line <= used))
            if best is None or best.ratio < LEAST_ORDER or _weighted(calls, between, best):
                continue
            m, r, n = best.sizes
            mine = calls.named(_PRODUCT) & here & np.isin(line, (made, used))
            won = 1 - 1 / best.ratio
            yield Found(
                mine, _PRODUCT, file, made, (0.3 * won, won),
                f"Products in the costlier order take {{share:.0%}} of each step: the other does with {1 - won:.0%}",
                "Two matrices are multiplied out to a large one, which is only multiplied once more.",
                f"[{m}, {r}] by [{r}, {n}] makes a matrix of {m * n:,} numbers, which goes into a product with "
                f"{best.vectors:.0f} vectors",
                "y = (x @ a) @ b   # not x @ (a @ b): from the side that has fewer rows or columns",
            )  # fmt: skip


class Order(NamedTuple):
    """How many times the operations of the other order; the sizes of the first product; vectors of the second one."""

    ratio: float
    sizes: tuple[int, int, int]
    vectors: float


def _order(calls: Calls, a: int, b: int, times: float) -> Order:
    """`times`: the second product is made so often for each of the first."""
    first, second = calls.shapes(a), calls.shapes(b)
    found = Order(0.0, (0, 0, 0), 0.0)
    if len(first) < 2 or len(second) < 2 or not (_matrix(first[0]) and _matrix(first[1])):
        return found
    (m, r), n = first[0], first[1][1]
    if first[1][0] != r:
        return found
    columns = second[1][1] if _matrix(second[1]) else 1
    for whole, k in ((second[0], columns), (second[1], second[0][0] if _matrix(second[0]) else 0)):
        if k and whole in ([m, n], [n, m]):
            k = k * max(times, 1.0)
            found = max(found, Order((m * r * n + k * m * n) / (k * r * (m + n)), (m, r, n), k))
    return found


def _weighted(calls: Calls, rows: Array, order: Order) -> bool:
    """Whether the first product is changed number by number, as by a mask: then no other order gives the same."""
    m, _, n = order.sizes
    names = calls.ops.text("name")
    for row in rows.tolist():
        shapes = [shape for shape in calls.shapes(row) if elements(shape) > 1]
        if [m, n] in shapes or [n, m] in shapes:
            if (
                re.match(r"^aten::(mul|div|add|sub|where|masked_fill)_?$", names[row] or "")
                and len(shapes) > 1
            ):
                return True
            if re.match(_CHANGES, names[row] or ""):
                return True
    return False


def _matrix(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) == 2 and elements(shape) > 0


def _list(word: Any) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", word)] if isinstance(word, str) else []


def _number(word: Any) -> int | None:
    try:
        return int(word)
    except (TypeError, ValueError):
        return None


RULE = Rule(
    "cheaper_algorithm",
    71,
    "operator calls with shapes",
    judge,
    scope="cpu",
    breadth=0,
    way="in another format",
)
