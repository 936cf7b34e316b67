"""Rules about work that need not be done: pieces, what came before, costlier ways to one result, unread gradients."""

from __future__ import annotations

from typing import Any

from sonde.store.recording import Recording
from tests.unit.insights.made_loop import GEMM, LOOP, MODEL, UPDATE, Spent, line, op
from tests.unit.insights.pairs.recordings import Call, made, with_text

PIECE = "\n\n\ndef rays(y):\n    x = all_rays(y)\n    return x[0]\n"  # made in line 5, cut in line 6
RAYS = Spent(8, 12, (line(5, "rays"), op("aten::mul"), LOOP))


def piece(rows: int) -> Recording:
    """One of so many rows is kept."""
    calls = [
        Call("aten::mul", 0, 8, 5, [[rows, 64], []]),
        Call("aten::select", 9, 0.1, 6, [[rows, 64], [], []], inputs=["", "0", "0"]),
    ]
    return with_text(made(RAYS, MODEL, UPDATE, calls=calls), PIECE)


def growing(by: int) -> Recording:
    """A concatenation whose first tensor has so many places more in each step."""

    def shapes(step: int) -> list[Any]:
        return [[[16, 100 + step * by, 32], [16, 1, 32]], []]

    calls = [Call("aten::cat", 0, 8, 5, shapes)]
    return made(Spent(8, 12, (line(5), op("aten::cat"), LOOP)), MODEL, calls=calls)


def convolution(taps: int) -> Recording:
    inputs = ["", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1"]
    calls = [
        Call(
            "aten::convolution",
            0,
            10,
            5,
            [[2, 1, 16000], [1, 1, taps], [], [], [], [], [], [], []],
            inputs=inputs,
        )
    ]
    return made(
        Spent(10, 12, (line(5, "forward"), op("aten::convolution"), GEMM), "forward"), UPDATE, calls=calls
    )


NODE = ("native", "torch::autograd::generated::ConvolutionBackward0::apply", {"library": "libtorch_cpu.so"})


def gradients(*updated: list[int]) -> Recording:
    """Gradients of a head and of a backbone below it; the optimizer updates tensors of these shapes."""
    calls = [
        Call("aten::conv2d", 0, 5, 5, [[8, 3, 32, 32], [64, 3, 3, 3]]),
        Call("torch::autograd::AccumulateGrad", 6.5, 0.1, 8, [[10, 64]], kind="backward"),
        Call("ConvolutionBackward0", 7, 8, 5, [[8, 64, 32, 32]], kind="backward"),
        Call("torch::autograd::AccumulateGrad", 15.5, 0.1, 5, [[64, 3, 3, 3]], kind="backward"),
        Call("Optimizer.step#SGD.step", 16.1, 0.8, 22, []),
        *(Call("aten::add_", 16.2 + 0.1 * n, 0.05, 22, [shape, shape]) for n, shape in enumerate(updated)),
    ]
    backbone = Spent(9, 21, (NODE, op("aten::convolution_backward"), GEMM), "backward")
    return made(MODEL, Spent(1, 21, (op("aten::mm"), GEMM), "backward"), backbone, UPDATE, calls=calls)


def branches(*numbers: int) -> Recording:
    """Results of all rows, multiplied by masks of the rows whose choice is one of these numbers."""
    calls = []
    for at, number in enumerate(numbers):
        calls.append(Call("aten::eq", 3 * at, 0.1, 4, [[512], []], inputs=["", str(number)]))
        calls.append(Call("aten::addmm", 3 * at + 0.2, 2, 5, [[128], [512, 128], [128, 128]]))
        calls.append(
            Call("aten::mul", 3 * at + 2.5, 0.1, 5, [[512, 128], [512, 1]], dtypes=["float", "bool"])
        )
    return made(Spent(10, 20, (line(5, "forward"), op("aten::addmm"), GEMM), "forward"), UPDATE, calls=calls)


PAIRS = {
    "piece_kept": (lambda: piece(1000), lambda: piece(2)),
    "growing_work": (lambda: growing(1), lambda: growing(0)),
    "cheaper_algorithm": (lambda: convolution(4096), lambda: convolution(7)),
    "masked_branches": (lambda: branches(0, 1, 2), lambda: branches(0, 0, 0)),
    "unused_gradients": (lambda: gradients([10, 64]), lambda: gradients([10, 64], [64, 3, 3, 3])),
}
