"""Work held against a roof whose numbers make the answer exact."""

from __future__ import annotations

import math

import numpy as np

from sonde.analyze.roofline.bounds import Level, Roof, place, saving_ms

# 100 GFLOP/s, 10 GB/s from memory, 40 GB/s from a 1 MB cache: the ridge is at 10 FLOPs per byte.
ROOF = Roof(
    threads=1,
    peak_flops={"f32": 100e9, "bf16": 200e9},
    levels=(Level("L2", 1_000_000, 40e9), Level("memory", None, 10e9)),
)


def test_a_product_is_bound_by_compute_and_a_sum_by_memory() -> None:
    found = place(np.array([1e9, 1e8]), np.array([1e7, 1e9]), np.array([20.0, 125.0]), ["f32", "f32"], ROOF)
    assert found.bound.tolist() == ["compute", "memory"]
    assert found.roof_ms.tolist() == [10.0, 100.0]
    assert found.efficiency.tolist() == [0.5, 0.8]
    assert found.intensity.tolist() == [100.0, 0.1]


def test_data_that_fits_half_the_cache_uses_the_caches_roof() -> None:
    found = place(np.zeros(2), np.array([400_000.0, 600_000.0]), np.ones(2), ["f32", "f32"], ROOF)
    assert found.bound.tolist() == ["cache", "memory"]
    assert np.allclose(found.roof_ms, [0.01, 0.06])


def test_the_type_decides_the_peak_and_an_unmeasured_type_uses_f32() -> None:
    flops, size = np.full(3, 1e9), np.full(3, 1e6)
    found = place(flops, size, np.full(3, 20.0), ["f32", "bf16", "f8"], ROOF)
    assert found.roof_ms.tolist() == [10.0, 5.0, 10.0]


def test_unknown_stays_unknown() -> None:
    nan = math.nan
    found = place(
        np.array([nan, nan, 1e9]), np.array([nan, 1e9, 1e7]), np.array([1.0, 200.0, 0.0]), ["f32"] * 3, ROOF
    )
    assert found.bound.tolist() == ["unknown", "unknown", "compute"]
    assert np.isnan(found.efficiency[[0, 2]]).all()
    assert found.efficiency[1] == 0.5  # the bytes alone already need half of that time
    assert saving_ms(np.array([1.0, 200.0, 0.0]), found)[0] == 0


def test_saving_is_the_way_to_the_target() -> None:
    time_ms = np.array([20.0, 12.0])
    found = place(np.full(2, 1e9), np.full(2, 1e6), time_ms, ["f32"] * 2, ROOF)
    assert np.allclose(saving_ms(time_ms, found), [20 * (1 - 0.5 / 0.7), 0])


def test_an_empty_roof_says_nothing() -> None:
    found = place(np.array([1e9]), np.array([1e6]), np.array([1.0]), ["f32"], Roof(1, {}))
    assert found.bound.tolist() == ["unknown"]
    assert math.isnan(Roof(1, {}).ridge())
    assert ROOF.ridge() == 10.0
