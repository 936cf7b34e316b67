"""Which file is which rank, and which ranks ran together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from sonde.analyze.rank_summary import RankSummary, summarise
from sonde.errors import EnvironmentLacks, InputError, UsageError
from sonde.importers import engines
from sonde.importers.ranks import rank_in_name, read_ranks, settle
from sonde.store import build
from tests.unit.analyze.synthetic import kernels, launches, ops


def summary(rank: int, source: str, start: float = 0.0, device: int = 0, world_size: int = -1) -> RankSummary:
    table = kernels({"start": start, "end": start + 10, "device": device})
    made = summarise(
        table, launches(), ops(), build.empty("marks"), build.empty("memory"), rank, world_size, source
    )
    assert made.devices
    return made


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34),
        ("graph_capture_rank_0.1773709679453551615.pt.trace.json.gz", 0),
        ("megatron_kineto_7.json.gz", 7),
        ("sampled_rank-1.json.gz", 1),
        ("trace3.json", -1),
        ("host_85866.1698107929560561434.pt.trace.json.gz", -1),  # a time is no rank
    ],
)
def test_ranks_are_read_from_names(name: str, rank: int) -> None:
    assert rank_in_name(name) == rank


def test_metadata_counts_before_names() -> None:
    job = settle([summary(1, "rank_7.json"), summary(0, "rank_8.json")])
    (run,) = job.runs
    assert ([r.rank for r in run.summary.ranks], run.rank_from) == ([0, 1], "metadata")


def test_names_then_devices_then_order() -> None:
    (by_name,) = settle([summary(-1, "rank_3.json"), summary(-1, "rank_5.json")]).runs
    assert ([r.rank for r in by_name.summary.ranks], by_name.rank_from) == ([3, 5], "name")
    (by_device,) = settle([summary(-1, "a.json", device=2), summary(-1, "b.json", device=1)]).runs
    assert ([r.rank for r in by_device.summary.ranks], by_device.rank_from) == ([1, 2], "device")
    (by_order,) = settle([summary(-1, "a.json"), summary(-1, "b.json")]).runs
    assert ([r.rank for r in by_order.summary.ranks], by_order.rank_from) == ([0, 1], "order")


def test_a_rank_that_occurs_twice_makes_two_runs_by_time() -> None:
    files = [summary(r, f"{run}-{r}", start=run * 1e6 + r) for run in (0, 1) for r in (0, 1, 2)]
    job = settle(files[::-1])
    assert [[r.source for r in run.summary.ranks] for run in job.runs] == [
        ["0-0", "0-1", "0-2"],
        ["1-0", "1-1", "1-2"],
    ]
    assert any("2 runs" in n for n in job.notes)


def test_missing_ranks_and_files_without_a_device_are_told() -> None:
    idle = replace(summary(2, "cpu.json"), devices=())
    job = settle([summary(0, "a", world_size=6), summary(4, "b", world_size=6), idle])
    assert job.runs[0].missing == (1, 2, 3, 5)
    assert "ranks 1-3, 5 are missing" in job.notes
    assert job.without_device == ("cpu.json",)


def fails_on_odd(path: Path) -> int:
    number = int(path.name)
    if number % 2:
        raise InputError(f"{number} is odd")
    return number


def test_one_bad_file_does_not_lose_the_others() -> None:
    got = engines.run(fails_on_odd, [Path(str(n)) for n in range(4)], workers=1)
    assert got == [0, engines.Failure(Path("1"), "1 is odd"), 2, engines.Failure(Path("3"), "3 is odd")]


def test_unknown_engines_and_worker_counts_are_refused() -> None:
    with pytest.raises(UsageError, match="spark"):
        engines.run(fails_on_odd, [], engine="spark")
    with pytest.raises(UsageError, match="0 workers"):
        engines.run(fails_on_odd, [], workers=0)


def test_a_folder_without_traces_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trace was found"):
        read_ranks([tmp_path])


class FakeRay:
    """Ray's four calls that the engine uses, in this process; `broken` fails to start."""

    def __init__(self, broken: bool = False) -> None:
        self.broken, self.live, self.started_with = broken, False, {}

    def is_initialized(self) -> bool:
        return self.live

    def init(self, **options: object) -> None:
        if self.broken:
            raise RuntimeError("The current node timed out during startup.\nmore")
        self.live, self.started_with = True, options

    def shutdown(self) -> None:
        self.live = False

    def remote(self, **_: object) -> Callable[[Callable[..., object]], object]:
        return lambda function: SimpleNamespace(remote=function)

    def put(self, value: object) -> object:
        return value

    def get(self, values: list[object]) -> list[object]:
        return values


def test_the_ray_engine_returns_what_the_local_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    paths = [Path(str(n)) for n in range(4)]
    assert engines.run(fails_on_odd, paths, "ray", 3) == engines.run(fails_on_odd, paths, workers=1)
    assert ray.started_with["num_cpus"] == 3
    assert not ray.live


def test_a_running_cluster_is_joined_and_not_sized(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    engines.run(fails_on_odd, [], "ray", 3)
    assert "num_cpus" not in ray.started_with


def test_ray_that_does_not_start_is_told_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", FakeRay(broken=True))
    with pytest.raises(EnvironmentLacks, match="timed out during startup") as caught:
        engines.run(fails_on_odd, [], "ray")
    assert "engine local" in (caught.value.hint or "")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EnvironmentLacks, match="not installed"):
        engines.run(fails_on_odd, [], "ray")
