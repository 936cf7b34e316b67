"""Modules that a window sees called again: when that counts as the same work done twice, and when it does not."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from sonde.record.frameworks.torch.inside.lines import LineTrace
from sonde.record.frameworks.torch.inside.values import _earlier
from tests.unit.record.line_trace import traced_steps


def repeats(step: Any, steps: int = 3) -> list[dict[str, Any]]:
    trace = traced_steps(step, steps)
    return [told for file, _, told in trace.rows() if file == __file__ and "module" in told]


class Pair(nn.Module):
    """An encoder of something that stays, and a decoder of something that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 8)

    def forward(self, source: Any, written: Any) -> Any:
        return self.decoder(written) + self.encoder(source)


def test_an_encoder_inside_a_model_whose_other_input_changes_is_told_once_with_all_that_is_in_it() -> None:
    model, source = Pair().eval(), torch.randn(4, 8)
    (found,) = repeats(lambda number: model(source, torch.full((4, 8), float(number))))
    assert (found["module"], found["class"], found["again"], found["calls"]) == (
        "encoder",
        "Sequential",
        2,
        3,
    )
    assert found["within"] is False


def test_a_whole_model_that_is_measured_on_one_input_is_not_told() -> None:
    model, source, written = Pair().eval(), torch.randn(4, 8), torch.randn(4, 8)
    assert repeats(lambda _: model(source, written)) == []


def test_a_model_beside_one_whose_input_changes_is_told_and_not_where_nothing_changes() -> None:
    prompts, other, ids = nn.Linear(8, 8), nn.Linear(8, 8), torch.randn(4, 8)

    def sample(x: Any) -> None:
        prompts(ids)
        other(x)

    (found,) = repeats(lambda number: sample(torch.full((4, 8), float(number))))
    assert (found["class"], found["again"]) == ("Linear", 2)
    assert repeats(lambda _: sample(ids)) == []


class Recurrence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.turn = parametrizations.weight_norm(nn.Linear(8, 8))

    def forward(self, sequence: Any) -> Any:
        state = sequence[0]
        for x in sequence:
            state = torch.tanh(x + self.turn(state))
        return state


def test_what_every_time_step_computes_again_is_told_in_training_on_one_batch_as_well() -> None:
    model, batch = Recurrence(), torch.randn(5, 4, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(_: int) -> None:
        model(batch).sum().backward()
        optimizer.step()

    (found,) = repeats(step)
    assert found["module"] == "turn.parametrizations.weight"
    assert (found["again"], found["calls"], found["within"]) == (12, 15, True)


@pytest.mark.parametrize(
    "layer",
    [nn.Sequential(nn.Dropout(0.5)), nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))],
    ids=["random", "running means"],
)
def test_a_layer_that_is_random_or_counts_what_it_sees_is_not_told(layer: nn.Module) -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(x) + self.layer(x)

    def found(model: nn.Module) -> list[str]:
        rows = repeats(lambda number: model(torch.arange(256.0).reshape(32, 8) + number))
        return [told["module"] for told in rows if told["module"] == "layer"]

    assert found(Twice().train()) == []
    assert found(Twice().eval()) == ["layer"]


def test_activation_checkpointing_computes_twice_on_purpose() -> None:
    class Saving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return checkpoint(self.inner, x, use_reentrant=False)

    model, batch = Saving(), torch.randn(4, 8, requires_grad=True)
    assert repeats(lambda _: model(batch).sum().backward()) == []


def test_objects_of_plain_classes_are_compared_by_what_they_hold() -> None:
    _earlier.clear()
    mean = torch.arange(100.0)

    def step(number: int) -> None:
        same = torch.distributions.Normal(mean, torch.ones(100))
        other = torch.distributions.Normal(mean + number, torch.ones(100))
        assert same is not other

    trace = LineTrace(torch)
    assert trace.start(sys._getframe())
    try:
        for number in range(3):
            step(number)
            trace.step()
    finally:
        trace.stop()
    first = step.__code__.co_firstlineno
    facts = {line - first: told for file, line, told in trace.rows() if file == __file__}
    assert (facts[1]["seen"], facts[1]["distinct"], facts[1]["large"]) == (3, 1, True)
    assert facts[2]["distinct"] == 3
