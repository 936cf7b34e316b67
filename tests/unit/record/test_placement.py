"""Where the system lets the program run: read from this machine's own files, and checked against other ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sonde.record.inside import placement
from sonde.record.inside.placement import Ticks, numa_bytes, physical_cpus, scheduling

LISTS = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")


@pytest.mark.skipif(not LISTS.exists(), reason="this kernel does not tell which CPUs are siblings")
def test_cores_are_no_more_than_cpus() -> None:
    assert 1 <= physical_cpus() <= len(os.sched_getaffinity(0))


@pytest.mark.skipif(not Path("/sys/devices/system/node").exists(), reason="a kernel without nodes")
def test_one_node_has_nothing_to_tell() -> None:
    nodes = [n for n in os.listdir("/sys/devices/system/node") if n.removeprefix("node").isdigit()]
    held = numa_bytes()
    assert set(held) <= {n.removeprefix("node") for n in nodes}
    assert bool(held) <= (len(nodes) > 1)


def test_throttled_time_is_what_the_control_group_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cpu.stat").write_text("nr_periods 9\nnr_throttled 4\nthrottled_usec 2500000\n")
    monkeypatch.setattr(placement, "CONTROL_GROUPS", str(tmp_path))
    monkeypatch.setattr(
        placement,
        "_text",
        lambda path: "0::/" if path == "/proc/self/cgroup" else Path(path).read_text().strip(),
    )
    now = Ticks.now()
    assert now.throttled_s == 2.5
    assert scheduling(now._replace(throttled_s=0.5))["throttled_s"] == 2.0


def test_stolen_time_is_a_share_of_what_passed() -> None:
    before = Ticks.now()
    seen = scheduling(Ticks(before.time_s - 10, before.all_ticks - 2000, before.stolen_ticks - 100))
    assert 10 <= seen["seconds"] < 20
    assert seen["stolen_share"] == pytest.approx(0.05, abs=0.02)
    assert seen.get("most_moves", 0) >= 0
