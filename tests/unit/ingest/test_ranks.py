"""Which file is which rank, and which ranks ran together."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from sonde.analyze.ranks.summary import RankSummary, RankTables, summarise
from sonde.cli.main import main
from sonde.errors import EnvironmentLacks, InputError, UsageError
from sonde.ingest import Failure, open_any
from sonde.ingest.ranks import engines
from sonde.ingest.ranks.folder import open_folder, rank_in_name, read_ranks, settle
from sonde.store import build
from sonde.views import VIEWS
from tests.unit.analyze.synthetic import kernels, launches, ops


def summary(rank: int, source: str, start: float = 0.0, device: int = 0, world_size: int = -1) -> RankSummary:
    table = kernels({"start": start, "end": start + 10, "device": device})
    marks, memory = build.empty("marks"), build.empty("memory")
    made = summarise(RankTables(table, launches(), ops(), marks, memory, rank, world_size, source))
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
    assert "2 runs" in job.notes(1)[0]


def test_missing_ranks_and_files_without_a_device_are_told() -> None:
    idle = replace(summary(2, "cpu.json"), devices=())
    job = settle([summary(0, "a", world_size=6), summary(4, "b", world_size=6), idle])
    assert job.runs[0].missing == (1, 2, 3, 5)
    assert "ranks 1-3, 5 are missing: the traces are of 0, 4" in job.notes(0)
    assert job.without_device == ("cpu.json",)


def fails_on_odd(path: Path) -> int:
    number = int(path.name)
    if number % 2:
        raise InputError(f"{number} is odd")
    return number


def test_one_bad_file_does_not_lose_the_others() -> None:
    got = engines.run(fails_on_odd, [Path(str(n)) for n in range(4)], workers=1)
    assert got == [0, Failure(Path("1"), "1 is odd"), 2, Failure(Path("3"), "3 is odd")]


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


def job_folder(
    folder: Path, ranks: tuple[int, ...] = (0, 1, 3), world: int = 4, at_us: float = 0.0, mark: str = ""
) -> Path:
    """A trace per rank, with a kernel each and what distributed jobs say of themselves."""
    folder.mkdir(exist_ok=True)
    for rank in ranks:
        events = [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at_us + 1, "dur": 5},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
             "ts": at_us + 2, "dur": 1, "args": {"correlation": 7}},
            {"ph": "X", "cat": "kernel", "name": f"gemm{mark}", "pid": 0, "tid": 7, "ts": at_us + 4, "dur": 10,
             "args": {"correlation": 7, "device": rank, "stream": 7}},
        ]  # fmt: skip
        known = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": world}}
        (folder / f"rank{mark}_{rank}.json").write_text(json.dumps({**known, "traceEvents": events}))
    return folder


def first_lines(folder: Path) -> list[str]:
    return list(open_folder(folder).meta.details["notes"])


def test_a_missing_empty_cut_or_foreign_file_of_a_folder_is_named(tmp_path: Path) -> None:
    folder = job_folder(tmp_path / "job")
    whole = (folder / "rank_3.json").read_text()
    (folder / "rank_3.json").write_text(whole[:-2])
    (folder / "rank_2.json").write_text("")
    (folder / "config.json").write_text('{"lr": 1}')
    said = first_lines(folder)
    assert said[0] == "rank 2 is missing: the traces are of 0-1, 3"
    assert (
        "rank_3.json (rank 3) is incomplete: the file ends before the trace is closed: its writer was stopped"
        in said
    )
    assert "rank_2.json is empty and is left out" in said
    (folder / "rank_3.json").write_text(whole[: whole.rindex("gemm")])  # before its only kernel
    said = first_lines(folder)
    assert said[0] == "ranks 2-3 are missing: the traces are of 0-1"
    assert (
        "rank_3.json has no device events and is left out; it is incomplete: the file ends inside an event"
        in said
    )
    assert "config.json is not a trace and is left out" in said


def test_a_whole_folder_needs_no_note(tmp_path: Path) -> None:
    assert first_lines(job_folder(tmp_path / "job", ranks=(0, 1), world=2)) == []


def test_a_hole_is_seen_without_a_world_size_and_step_numbers_are_no_ranks() -> None:
    holes = settle([summary(r, f"rank_{r}.json") for r in (0, 1, 3)])
    assert holes.runs[0].missing == (2,)
    steps = settle([summary(-1, f"step_{n}.json") for n in (100, 200)])
    assert steps.runs[0].missing == ()


def test_two_runs_in_a_folder_are_both_to_be_had(tmp_path: Path) -> None:
    folder = job_folder(tmp_path / "job", ranks=(0, 1), world=2, mark="first")
    job_folder(folder, ranks=(0, 1), world=2, mark="second", at_us=9e6)

    def kernels_of(run: int | None) -> set[str | None]:
        return set(open_folder(folder, run=run).table("kernels").text("name").tolist())

    assert (kernels_of(None), kernels_of(1), kernels_of(2)) == ({"gemmsecond"}, {"gemmfirst"}, {"gemmsecond"})
    assert first_lines(folder) == [
        "the folder holds 2 runs, and this is run 2 (ranks 0-1, job/ranksecond_0.json); "
        "show run 1 (ranks 0-1, job/rankfirst_0.json, 9.0 s earlier) with --run 1"
    ]
    with pytest.raises(UsageError, match="there is no run 3: the folder holds 2 runs"):
        open_folder(folder, run=3)
    with pytest.raises(UsageError, match="selects a run in a folder of traces"):
        open_any(folder / "rankfirst_0.json", run=1)


def test_the_notes_stand_before_every_view_and_in_its_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = job_folder(tmp_path / "job")
    for view in VIEWS:
        if view in ("chain", "roofline"):  # need an operator with a chain, and roofs
            continue
        assert main(["show", str(folder), view]) == 0
        assert capsys.readouterr().out.startswith("Note: rank 2 is missing"), view
        assert main(["show", str(folder), view, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["notes"] == ["rank 2 is missing: the traces are of 0-1, 3"]
    assert main(["insights", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("Note: rank 2 is missing")


class LoudRay(FakeRay):
    """Prints on the way, as Ray and its daemons do."""

    def init(self, **options: object) -> None:
        print("a message of Ray")
        os.write(1, b"a message of a daemon\n")
        super().init(**options)


def test_what_ray_prints_never_reaches_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", LoudRay())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    folder = job_folder(tmp_path / "job", ranks=(0, 1), world=2)
    assert main(["show", str(folder), "gpu", "--engine", "ray", "--json"]) == 0
    out, err = capfd.readouterr()
    assert [d["rank"] for d in json.loads(out)["devices"]] == [0, 1]
    assert "a message of Ray" in err
    assert "a message of a daemon" in err
