"""FLOPs from shapes against figures worked out by hand, and what is said to be unknown."""

from __future__ import annotations

import pytest

from sonde.analyze.achieved import achieved, peak_tflops
from sonde.analyze.device_events import device_work
from sonde.analyze.op_flops import cost_of
from tests.unit.analyze.synthetic import kernels, launches, ops

CONV = '["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1"]'


@pytest.mark.parametrize(
    ("name", "shapes", "inputs", "flops"),
    [
        ("aten::mm", "[[4, 8], [8, 16]]", None, 2 * 4 * 8 * 16),
        ("aten::addmm", "[[16], [4, 8], [8, 16], [], []]", None, 2 * 4 * 8 * 16),
        ("aten::bmm", "[[3, 4, 8], [3, 8, 16]]", None, 3 * 2 * 4 * 8 * 16),
        # ResNet's first layer: 112 × 112 places, 64 filters of 3 × 7 × 7.
        (
            "aten::convolution",
            "[[32, 3, 224, 224], [64, 3, 7, 7], []]",
            CONV,
            2 * 32 * 112 * 112 * 64 * 3 * 49,
        ),
        (
            "aten::convolution_backward",
            "[[32, 64, 112, 112], [32, 3, 224, 224], [64, 3, 7, 7]]",
            CONV[:1] + '"", ' + CONV[1:-1] + ', "[False, True, False]"]',
            2 * 32 * 112 * 112 * 64 * 3 * 49,
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            "[[2, 8, 512, 64], [2, 8, 512, 64], [2, 8, 512, 64]]",
            None,
            4 * 2 * 8 * 512 * 512 * 64,
        ),
    ],
)
def test_flops_follow_the_formula(name: str, shapes: str, inputs: str | None, flops: int) -> None:
    found = cost_of(name, shapes, '["c10::BFloat16"]', inputs)
    assert found is not None
    assert found.flops == flops
    assert found.item_bytes == 2


def test_flops_of_forward_ops_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="compares with torch.utils.flop_counter")
    counter = pytest.importorskip("torch.utils.flop_counter")
    conv = torch.nn.Conv2d(6, 8, 3, stride=2, padding=1, groups=2)
    with counter.FlopCounterMode(display=False) as mode:
        conv(torch.zeros(5, 6, 20, 22))
    scalars = '["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"]'
    found = cost_of("aten::convolution", "[[5, 6, 20, 22], [8, 3, 3, 3], [8]]", '["float"]', scalars)
    assert found is not None
    assert found.flops == mode.get_total_flops()


@pytest.mark.parametrize("shapes", [None, "[]", "[[4, 8], [9, 16]]", "not json", "[[4, 8]]", '[["a"], [1]]'])
def test_shapes_that_do_not_tell_give_nothing(shapes: str | None) -> None:
    assert cost_of("aten::mm", shapes, None, None) is None


def test_rates_and_mfu() -> None:
    calls = ops(
        {
            "start": 0,
            "end": 5,
            "shapes": "[[1000, 1000], [1000, 1000]]",
            "dtypes": '["c10::Half", "c10::Half"]',
        }
    )
    table = kernels({"start": 10, "end": 20, "op": 0, "name": "h16816gemm"})
    work = device_work(table, launches())
    found = achieved(work, calls, "NVIDIA A100-SXM4-80GB", window_ns=40_000)
    (row,) = found.rows
    assert row.tflops == pytest.approx(2e9 / 10e-6 / 1e12)
    assert row.peak_share == pytest.approx(200 / 312)
    assert row.gbs == pytest.approx(3 * 1000 * 1000 * 2 / 10e-6 / 1e9)
    assert found.mfu == pytest.approx(2e9 / 40e-6 / 312e12)
    assert found.covered == 1.0


def test_an_unknown_device_or_type_gets_no_borrowed_peak() -> None:
    calls = ops({"start": 0, "end": 5, "shapes": "[[10, 10], [10, 10]]", "dtypes": '["float", "float"]'})
    work = device_work(kernels({"start": 10, "end": 20, "op": 0}), launches())
    assert achieved(work, calls, "MTIA", 10).mfu is None
    assert "MTIA" in achieved(work, calls, "MTIA", 10).why_unknown
    assert "16 bits" in achieved(work, calls, "NVIDIA H100", 10).why_unknown
    assert achieved(work, ops(), "NVIDIA H100", 10).why_unknown.startswith("no matrix operator")
    assert peak_tflops("NVIDIA H100 PCIe") == 756.0
    assert peak_tflops("NVIDIA H100 80GB HBM3") == 989.0
    assert peak_tflops("NVIDIA GeForce RTX 2080 Ti") is None
