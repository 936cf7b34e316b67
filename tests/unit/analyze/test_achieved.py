"""FLOPs from shapes against figures worked out by hand, and what is said to be unknown."""

from __future__ import annotations

import pytest

from sonde.analyze.device.achieved import achieved, peak_tflops
from sonde.analyze.device.events import device_work
from tests.unit.analyze.synthetic import kernels, launches, ops


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
