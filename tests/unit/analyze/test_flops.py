"""Operators' FLOPs against torch's own counter, and where they differ, why."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sonde.analyze.ops import costs as flops
from sonde.analyze.ops.costs import of_operator
from sonde.store import build

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def cost(
    name: str, shapes: list[Any], values: list[str] | None = None, type_: str = "float"
) -> tuple[float, float]:
    types = [type_ if shape else "Scalar" for shape in shapes]
    found = of_operator(name, json.dumps(shapes), json.dumps(types), json.dumps(values or [""] * len(shapes)))
    return found.flops, found.bytes


def test_products() -> None:
    assert cost("aten::mm", [[3, 4], [4, 5]]) == (120, 4 * (12 + 20 + 15))
    assert cost("aten::addmm", [[5], [3, 4], [4, 5], [], []]) == (120, 4 * (5 + 12 + 20 + 15))
    assert cost("aten::bmm", [[2, 3, 4], [2, 4, 5]])[0] == 240
    assert cost("aten::addmv_", [[3], [3, 4], [4], [], []])[0] == 24
    assert cost("aten::mm", [[3, 4], [4, 5]], type_="c10::BFloat16")[1] == 2 * 47


def test_attention_on_the_cpu_counts_and_causal_is_half() -> None:
    name = "aten::_scaled_dot_product_flash_attention_for_cpu"
    shapes: list[Any] = [[2, 4, 32, 16]] * 3 + [[]] * 4
    full = cost(name, shapes, ["", "", "", "0.", "False", "", ""])[0]
    assert full == 4 * 2 * 4 * 32 * 32 * 16
    assert cost(name, shapes, ["", "", "", "0.", "True", "", ""])[0] == full / 2


@pytest.mark.parametrize(
    ("name", "causal_at"),
    [
        ("flash_attention", 4),
        ("efficient_attention", 6),
        ("cudnn_attention", 6),
        ("fused_attention_overrideable", 5),
    ],
)
def test_attention_on_a_device_is_half_when_causal_and_unknown_when_nobody_says(
    name: str, causal_at: int
) -> None:
    name = f"aten::_scaled_dot_product_{name}"
    shapes: list[Any] = [[2, 8, 512, 64]] * 3 + [[]] * 5
    values = [""] * 8
    assert math.isnan(cost(name, shapes, values)[0])
    values[causal_at] = "False"
    assert cost(name, shapes, values, "c10::BFloat16")[0] == 4 * 2 * 8 * 512 * 512 * 64
    values[causal_at] = "True"
    assert cost(name, shapes, values, "c10::BFloat16")[0] == 2 * 2 * 8 * 512 * 512 * 64


def test_the_first_factor_tells_the_element_size() -> None:
    ops = build.table(
        "ops",
        op=[0, 1],
        parent=[-1, -1],
        thread=[0, 0],
        start_ns=[0, 5],
        end_ns=[4, 9],
        name=["aten::addmm", "aten::relu"],
        shapes=["[[16], [4, 8], [8, 16]]", "[[4, 8]]"],
        dtypes=['["float", "c10::BFloat16", "c10::BFloat16"]', '["float"]'],
    )
    found = flops.op_costs(ops)
    assert found.item_bytes.tolist() == [2, 4]
    assert found.is_matrix.tolist() == [True, False]


def test_a_recurrent_layer_multiplies_both_weights_at_every_step() -> None:
    shapes: list[Any] = [[5, 2, 8], [64, 8], [64, 16], [64], [64], [2, 16], [2, 16]]
    assert cost("aten::mkldnn_rnn_layer", shapes)[0] == 2 * 5 * 2 * 64 * (8 + 16)


@pytest.mark.parametrize(
    ("name", "shapes", "values"),
    [
        ("aten::mm", [[3, 4], [5, 6]], None),
        ("aten::mm", [[3, 4]], None),
        ("aten::convolution", [[1, 3, 8, 8], [4, 3, 3, 3]], None),
        ("aten::conv2d", [[1, 3, 8, 8], [4, 3, 3, 3]], None),
        ("custom::op", [[3, 4]], None),
        ("aten::add", [[3, 4], [5]], None),
    ],
)
def test_what_is_not_known_is_nan(name: str, shapes: list[Any], values: list[str] | None) -> None:
    assert all(math.isnan(x) for x in cost(name, shapes, values))


@pytest.mark.parametrize("text", [None, "", "null", "{}", "[", '["x"]', "[[1, -2], [3]]", "3"])
def test_damaged_shapes_are_unknown(text: str | None) -> None:
    for name in flops.COUNTERS:
        found = of_operator(name, text, '["float", "float"]', '["", ""]')
        assert math.isnan(found.flops) or found.flops >= 0


def test_what_runs_inside_a_counted_operator_does_not_count_again() -> None:
    shapes = json.dumps([[3, 4], []])
    ops = build.table(
        "ops",
        op=[0, 1, 2],
        parent=[-1, 0, -1],
        thread=[0, 0, 0],
        start_ns=[0, 1, 10],
        end_ns=[9, 8, 12],
        name=["aten::sum", "aten::sum", "aten::sum"],
        shapes=[shapes] * 3,
        dtypes=['["float", "Scalar"]'] * 3,
        inputs=['["", ""]'] * 3,
    )
    counted = flops.op_costs(ops).flops
    assert np.nan_to_num(counted, nan=-1).tolist() == [12, -1, 12]
    assert np.nansum(flops.op_costs(ops).flops) == 24


def measured(work: Callable[[], object]) -> tuple[dict[str, float], dict[str, float]]:
    """FLOPs by operator: ours over torch.profiler's events, and FlopCounterMode's."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.profiler.profile(
        record_shapes=True, activities=[torch.profiler.ProfilerActivity.CPU]
    ) as profile:
        work()
    ours: dict[str, float] = {}
    for event in profile.profiler.kineto_results.events():  # type: ignore[union-attr]
        found = of_operator(
            event.name(),
            json.dumps([list(s) if s and not isinstance(s[0], list) else s for s in event.shapes()]),
            json.dumps(event.dtypes()),
            json.dumps([str(v) if v is not None else "" for v in event.concrete_inputs()]),
        )
        if not math.isnan(found.flops):
            ours[event.name()] = ours.get(event.name(), 0.0) + found.flops
    counter = FlopCounterMode(display=False)
    with counter:
        work()
    theirs = {
        f"aten::{str(k).removeprefix('aten.')}": float(v)
        for k, v in counter.get_flop_counts().get("Global", {}).items()
    }
    return ours, theirs


@needs_torch
@pytest.mark.torch
def test_products_agree_with_torchs_counter() -> None:
    import torch

    layer = torch.nn.Linear(30, 20)

    def work() -> None:
        layer(torch.ones(8, 30)).sum().backward()
        torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
        torch.baddbmm(torch.ones(2, 3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5))

    ours, theirs = measured(work)
    assert theirs
    assert {name: ours[name] for name in theirs} == theirs


@needs_torch
@pytest.mark.torch
def test_convolutions_agree_without_padding_and_count_less_with_it() -> None:
    import torch

    def conv(**options: Any) -> Callable[[], None]:
        layer = torch.nn.Conv2d(4, 8, 3, **options)
        return lambda: layer(torch.ones(2, 4, 10, 10, requires_grad=True)).sum().backward()

    ours, theirs = measured(conv())
    for name in ("aten::convolution", "aten::convolution_backward"):
        assert ours[name] == theirs[name]
    # 10 outputs of 3 taps lose one at each border: 28 of 30, squared.
    ours, theirs = measured(conv(padding=1))
    for name in ("aten::convolution", "aten::convolution_backward"):
        assert ours[name] == pytest.approx(theirs[name] * (28 / 30) ** 2)
    ours, theirs = measured(conv(stride=2, dilation=2))
    assert ours["aten::convolution"] == theirs["aten::convolution"]


@needs_torch
@pytest.mark.torch
def test_the_gradient_of_grouped_weights_counts_once_not_once_per_group() -> None:
    import torch

    layer = torch.nn.Conv2d(4, 8, 3, groups=2)
    ours, theirs = measured(lambda: layer(torch.ones(2, 4, 10, 10, requires_grad=True)).sum().backward())
    assert ours["aten::convolution"] == theirs["aten::convolution"]
    assert ours["aten::convolution_backward"] == 2 * ours["aten::convolution"]
    assert theirs["aten::convolution_backward"] == 3 * theirs["aten::convolution"]


@needs_torch
@pytest.mark.torch
def test_torchs_counter_does_not_see_attention_on_the_cpu() -> None:
    import torch

    q = torch.ones(2, 4, 32, 16)
    ours, theirs = measured(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q))
    assert theirs == {}
    assert ours["aten::_scaled_dot_product_flash_attention_for_cpu"] == 4 * 2 * 4 * 32 * 32 * 16
