"""What a window samples of the tensors that a line names."""

from __future__ import annotations

import sys
from typing import Any

import torch

from sonde.record.frameworks.torch.inside.lines import LineTrace
from sonde.record.frameworks.torch.inside.operands import is_dense, named_operands, spread


def sampled(step: Any, steps: int = 3) -> dict[str, dict[str, Any]]:
    trace = LineTrace(torch)
    assert trace.start(sys._getframe())
    try:
        for _ in range(steps):
            step()
            trace.step()
    finally:
        trace.stop()
    return {told["operand"]: told for file, _, told in trace.rows() if file == __file__ and "operand" in told}


def test_a_large_matrix_of_zeros_is_told_by_its_name_and_one_that_is_full_is_not() -> None:
    sparse, full, x = torch.zeros(512, 512), torch.rand(512, 512) + 1, torch.randn(512, 4)
    sparse.view(-1)[::200] = 1.0
    sparse = sparse.t()
    small = torch.zeros(16, 16)

    def step() -> Any:
        return sparse @ x, full @ x, small @ small

    found = sampled(step)
    assert set(found) == {"sparse"}
    assert 0.98 < found["sparse"]["zeros"] < 1
    assert found["sparse"]["shape"] == [512, 512]
    assert found["sparse"]["same"] is True


class Learner:
    def __init__(self, value: float) -> None:
        self.traces = torch.full((1 << 17,), value)

    def advance(self) -> None:
        self.traces.mul_(1.0)


def test_denormal_numbers_of_a_member_are_told_and_normal_ones_are_not() -> None:
    tiny, normal = Learner(1e-40), Learner(1e-30)
    assert sampled(tiny.advance)["self.traces"]["denormal"] == 1.0
    assert sampled(normal.advance) == {}


def test_no_property_of_the_program_is_run_and_gaps_are_not_read() -> None:
    class Guarded:
        @property
        def traces(self) -> Any:
            asked.append(1)
            return torch.zeros(512, 512)

    asked: list[int] = []
    one, gaps = Guarded(), torch.zeros(512, 1024)[:, ::2]

    def step() -> Any:
        return one.traces.sum() + gaps.sum()

    assert sampled(step, 2) == {}
    assert len(asked) == 2


def test_a_sample_meets_all_columns_and_views_without_gaps_are_known() -> None:
    assert spread(2000 * 2000, (2000, 2000)) % 2 == 1
    for shape in ((2000, 2000), (513, 1026), (3, 5, 70000)):
        count = torch.Size(shape).numel()
        assert len({at % shape[-1] for at in range(0, count, spread(count, shape))}) > 500
    assert is_dense((4, 6), (6, 1))
    assert is_dense((4, 6), (1, 4))
    assert not is_dense((4, 6), (12, 2))
    code = compile("a = b.c @ d\n", "x.py", "exec")
    assert named_operands(code) == {1: (("b",), ("b", "c"), ("d",))}
