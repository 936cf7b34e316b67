"""Keeping and choosing roofs, and the probes themselves on this machine."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pytest

from sonde.errors import EnvironmentLacks, InputError
from sonde.machine import roofs
from sonde.machine.facts import gather
from sonde.machine.roof_torch import Peak, TorchPeaks
from sonde.machine.roofs import MeasuredRoofs, Rate
from sonde.native import tools
from tests.unit.machine import trees


def native_is_built() -> bool:
    try:
        return hasattr(tools(), "sonde_roof_triad")
    except EnvironmentLacks:
        return False


needs_native = pytest.mark.skipif(not native_is_built(), reason="libsonde_tools.so is not built: make native")

ROOFS = MeasuredRoofs(
    machine="m",
    when="2026-01-01T00:00:00",
    source="native",
    seconds=1.0,
    peaks=[
        Rate("f32", 1, 100e9, 50e9, 30),
        Rate("f32", 8, 700e9, 350e9, 30),
        Rate("bf16", 8, 900e9, 450e9, 30),
    ],
    bandwidths=[
        Rate("memory", 8, 50e9, 25e9, 30),
        Rate("L2", 8, 400e9, 200e9, 30, 1 << 20),
        Rate("last level", 8, 200e9, 100e9, 30, 32 << 20),
        Rate("memory", 1, 10e9, 5e9, 30),
    ],
)


def test_roofs_survive_the_disk(tmp_path: Path) -> None:
    assert roofs.load("m", tmp_path) is None
    path = roofs.save(ROOFS, tmp_path)
    assert path == tmp_path / "m.json"
    assert roofs.load("m", tmp_path) == ROOFS


@pytest.mark.parametrize("text", ["", "{", '{"format": 9}', '{"format": 1, "machine": "m"}'])
def test_a_damaged_file_is_a_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(InputError, match=r"m\.json"):
        roofs.load("m", tmp_path)


def test_the_nearest_number_of_threads_is_used_and_levels_are_in_order() -> None:
    roof = ROOFS.roof(6)
    assert roof.threads == 8
    assert roof.peak_flops == {"f32": 700e9, "bf16": 900e9}
    assert [level.name for level in roof.levels] == ["L2", "last level", "memory"]
    assert ROOFS.roof(1).levels[-1].bytes_per_s == 10e9
    assert ROOFS.noise == 2.0


def test_a_machine_is_known_by_what_a_process_may_use(tmp_path: Path) -> None:
    files = trees.x86("CPU", trees.AVX2, 1, 8, 1)
    whole = gather(trees.make(tmp_path / "a", files), environment={})
    files["/proc/self/status"] = trees.status("0-3")
    half = gather(trees.make(tmp_path / "b", files), environment={})
    assert roofs.machine_id(whole) == roofs.machine_id(whole)
    assert roofs.machine_id(whole) != roofs.machine_id(half)


@needs_native
def test_probes_give_work_and_times() -> None:
    library = roofs._library()
    seconds = (ctypes.c_double * 5)()
    flops = library.sonde_roof_fma(1, 10_000, 5, seconds)
    lanes = library.sonde_roof_width() / 4
    assert flops == 2 * lanes * 10 * 16 * 10_000
    # The compiler left nothing out: no core does more than four of these in a cycle or has 7 GHz. (That is a lower
    # limit on purpose: whatever else runs on this machine can only make it longer.)
    assert min(seconds) > 10 * 16 * 10_000 / (4 * 7e9)
    assert library.sonde_roof_triad(1, 12 * 1000, 12 * 1000, 7, 5, seconds) == 12 * 1000 * 7
    assert library.sonde_roof_triad(1, 12, 12, 1, 1, seconds) == 0
    assert library.sonde_roof_fma(0, 1, 1, seconds) == 0


@needs_native
def test_measuring_without_torch_gives_every_level_and_a_peak(tmp_path: Path) -> None:
    found = roofs.measure(gather(), None, budget_s=0.1)
    assert {r.name for r in found.peaks} == {"f32"}
    assert "memory" in {r.name for r in found.bandwidths}
    assert all(r.best >= r.median > 0 for r in (*found.peaks, *found.bandwidths))
    assert found.source == "native"
    json.dumps(roofs.save(found, tmp_path).read_text())


@needs_native
def test_peaks_of_torch_replace_those_in_registers() -> None:
    peaks = TorchPeaks("2.13.0", 7.0, [Peak("bf16", 1, 1024, 30, 5e9, 4e9)])
    found = roofs.measure(gather(), peaks, budget_s=0.1)
    assert [(r.name, r.best) for r in found.peaks] == [("bf16", 5e9)]
    assert found.source == "torch 2.13.0"
