"""What a sample of a tensor's numbers says: a product with zeros, denormal numbers."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.insights.engine import judge
from sonde.insights.line_facts import operands
from sonde.insights.rules.kernels import denormals, mostly_zeros
from sonde.store import build
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, GEMM, LOOP, Spent, op
from tests.unit.insights.pairs.recordings import Call, made
from tests.unit.insights.pairs.windows import told

SAMPLE: dict[str, Any] = {"operand": "adjacency", "shape": [512, 512], "zeros": 0.99, "denormal": 0.0}
SAMPLE |= {"looked": 1024, "same": True}
PRODUCT = Spent(6, 20, (op("aten::mm"), GEMM), "forward")


def product(shapes: list[list[int]], line: int = 20, **sample: Any) -> Recording:
    calls = [Call("aten::mm", 0, 6, line=line, shapes=shapes)]
    return made(PRODUCT, BACKWARD, calls=calls, marks=told("values", 20, **{**SAMPLE, **sample}))


def test_the_saving_follows_from_how_many_numbers_are_left() -> None:
    def card(zeros: float, same: bool = True) -> Any:
        recording = product([[512, 512], [512, 64]], zeros=zeros, same=same)
        return judge(recording, (mostly_zeros.RULE,)).insights[0]

    few, many = card(0.999), card(0.955)
    assert few.saving.low_ms > many.saving.low_ms
    assert "99.9%" in few.title
    assert "adjacency.to_sparse_csr()" in few.fix
    assert (few.confidence, card(0.999, same=False).confidence) == ("medium", "low")


@pytest.mark.parametrize(
    ("recording", "speaks"),
    [
        (product([[64, 512], [512, 512]]), True),
        (product([[512, 64], [64, 512]]), False),  # the product is of other matrices
        (product([[512, 512], [512, 64]], line=30), False),  # … or on another line
        (product([[512, 512], [512, 64]], shape=[512, 512, 4]), False),
    ],
)
def test_only_a_product_that_reads_the_matrix_counts(recording: Recording, speaks: bool) -> None:
    assert bool(judge(recording, (mostly_zeros.RULE,)).insights) == speaks


@pytest.mark.parametrize(("share", "speaks"), [(0.3, True), (0.0, False)])
def test_denormals_that_were_seen_need_less_slowness(share: float, speaks: bool) -> None:
    shapes, steps = (
        [[1250, 1600], [1250, 1600]],
        [[1600, 1], [1600, 1]],
    )  # 5 ns for each of two million numbers
    calls = [Call("aten::mul", 0, 10, shapes=shapes, dtypes=["float", "float"], strides=steps)]
    spent = Spent(10, 20, (op("aten::mul"), LOOP), "forward")
    marks = told("values", 20, **{**SAMPLE, "operand": "traces", "denormal": share, "zeros": 0.0})
    recording = made(spent, BACKWARD, calls=calls, says={"flush_denormal": False}, marks=marks)
    report = judge(recording, (denormals.RULE,))
    assert report.failed == {}
    assert bool(report.insights) == speaks
    if speaks:
        assert any("30.0% of 1024 numbers looked at in traces" in e.text for e in report.insights[0].evidence)


def test_of_several_windows_zeros_count_as_seen_least_and_nonsense_not_at_all() -> None:
    parts = [told("values", 20, **{**SAMPLE, "zeros": z}) for z in (0.99, 0.95)]
    parts.append(told("values", 21, operand="x", shape="large", zeros="many"))
    (found,) = operands(build.concat("marks", parts))
    assert (found.name, found.zeros, found.shape) == ("adjacency", 0.95, (512, 512))
