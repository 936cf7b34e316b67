"""Native reader and plain reader, analysed alike: two paths from one file to the same figures."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.analyze.device.by_op import device_by
from sonde.analyze.device.critical_path import critical_path
from sonde.analyze.device.event_waits import event_waits
from sonde.analyze.device.events import device_work
from sonde.analyze.ranks.summary import RankSummary, summaries
from sonde.ingest import open_any
from sonde.ingest.kineto import reader as kineto
from sonde.ingest.ranks import folder as ranks
from sonde.ingest.ranks.folder import open_folder, read_ranks, summary_of
from sonde.render.text import show
from sonde.render.text.page import Page
from sonde.rows import plain as as_json
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.environments import ROOT, file_of
from tests.oracle.traces import MEGATRON, plain, trace

QUICK = [
    MEGATRON[0],
    "samfast/asdf_True_tiny.json.gz",
    "samfast/asdf_True_small.json.gz",
    "kineto_tb/resnet50_nw0_a.json.gz",
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz",
    "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz",
    "tracelens/inference/vllm_prefilldecode_piecewise/graph_execution.json.gz",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
    "hta/critical_path/cuda_event_sync/event_sync_trace.json.gz",
    "hta/mtia_inference_trace/mtia_inference_rank_0.json.gz",
    "hta/cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz",
    "ao/trace.json.gz",
    "ao/amg_example_trace.json.gz",
    "misc/switch_trace.json.gz",
    "misc/nuggets_qlora.json",
    "kineto_docs/before_fix_trace.json",
]
LARGE = [
    "samfast/asdf_False_b.json.gz",
    "samfast/asdf_True_b.json.gz",
    "hta/mtia_trace_single_rank/mtia_rank_0.json.gz",
    "hta/trace_diff/control/control.json.gz",
    "kineto_tb/old18_resnet50_autograd_nw0.json.gz",
    "kineto_tb/oldest_resnet50_nw0.json.gz",
    "param/linear_kineto.json.gz",
    "param/resnet_kineto.json.gz",
    "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    "tracelens/mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    "tracelens/inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz",
]
ALL = [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]


@lru_cache(maxsize=8)
def native(name: str) -> Recording:
    return kineto.read(trace(name))


def one(recording: Recording, name: str) -> RankSummary:
    found = summaries(recording.table, name)
    return max(found, key=lambda s: sum(d.time.events for d in s.devices))


@pytest.mark.parametrize("name", ALL)
def test_both_readers_lead_to_the_same_figures(name: str) -> None:
    mine, theirs = one(native(name), name), one(plain(name), name)
    assert [d.time for d in mine.devices] == [d.time for d in theirs.devices]
    assert [d.skew for d in mine.devices] == [d.skew for d in theirs.devices]
    assert [d.max_queue_depth for d in mine.devices] == [d.max_queue_depth for d in theirs.devices]
    assert [d.idle.idle_ns for d in mine.devices] == [d.idle.idle_ns for d in theirs.devices]
    assert mine.kernels == theirs.kernels
    assert mine.copies == theirs.copies
    assert mine.launches == theirs.launches
    assert mine.steps == theirs.steps
    assert {(c.name, c.calls, c.total_ns) for c in mine.calls} == {
        (c.name, c.calls, c.total_ns) for c in theirs.calls
    }
    assert np.array_equal(mine.collectives.end, theirs.collectives.end)


@pytest.mark.parametrize("name", ALL)
def test_parts_add_up_on_every_trace(name: str) -> None:
    """Every nanosecond of a window is somewhere, and nowhere twice."""
    recording = native(name)
    kernels, launches, ops = (recording.table(n) for n in ("kernels", "launches", "ops"))
    work = device_work(kernels, launches)
    found = one(recording, name)
    for device in found.devices:
        time = device.time
        assert device.idle.idle_ns == time.idle_ns == time.window_ns - time.busy_ns
        assert time.busy_ns <= time.compute_ns + time.communication_ns + time.copy_ns
        assert max(time.compute_ns, time.communication_ns, time.copy_ns) <= time.busy_ns
        assert sum(device.verdict.shares.values()) == pytest.approx(1.0)
    for step in found.steps.breakdown:
        assert sum(step.parts_ns.values()) == step.total_ns
    linked = work.take(work.op >= 0)
    assert sum(r.device_self_ns for r in device_by(work, ops, ops.text("name"))) == linked.durations.sum()
    path = critical_path(work, launches, found.start_ns, found.end_ns)
    assert sum(path.by_bound_ns.values()) == found.end_ns - found.start_ns


def test_critical_paths_of_the_stragglers_run_through_the_host() -> None:
    """All hosts of this job are slow; only ranks that wait have collectives on their path."""
    shares = {}
    for rank in (0, 1):
        recording = native(MEGATRON[rank])
        work = device_work(recording.table("kernels"), recording.table("launches"))
        found = one(recording, "x")
        path = critical_path(work, recording.table("launches"), found.start_ns, found.end_ns).by_bound_ns
        shares[rank] = path["communication"] / sum(path.values())
        assert path["cpu"] > 0.8 * sum(path.values())
    assert shares[0] < 0.01 < 0.05 < shares[1]


def test_a_folder_of_ranks_is_one_recording() -> None:
    folder = trace(MEGATRON[0]).parent
    whole = open_any(folder)
    assert sorted(whole.table("processes").array("rank").tolist()) == list(range(8))
    found = summaries(whole.table, "job")
    apart = {r: summary_of(folder / Path(MEGATRON[r]).name) for r in range(8)}
    assert len(found) == 8
    for mine in found:
        assert [d.time.busy_ns for d in mine.devices] == [d.time.busy_ns for d in apart[mine.rank].devices]
        assert mine.kernels == apart[mine.rank].kernels
        assert mine.launches == apart[mine.rank].launches
        assert mine.syncs == apart[mine.rank].syncs


def test_a_folder_with_two_runs_opens_the_last_and_says_so() -> None:
    folder = trace("multirank/torchrec/sst_long_a2a_optimizer_2")
    whole = open_any(folder)
    assert sorted(whole.table("processes").array("rank").tolist()) == [0, 1, 2, 3]
    losses = dict(
        zip(whole.table("losses").text("cause").tolist(), whole.table("losses").array("count"), strict=True)
    )
    assert losses["traces_left_out"] == 4


def test_a_folder_with_two_runs_is_compared_run_by_run() -> None:
    job = read_ranks([trace("multirank/torchrec/sst_long_a2a_optimizer_2")], workers=1)
    assert [[r.rank for r in run.summary.ranks] for run in job.runs] == [[0, 1, 2, 3]] * 2
    assert [[s.rank for s in run.summary.stragglers] for run in job.runs] == [[2], [2]]


def test_pool_and_single_process_give_the_same_answer() -> None:
    folder = trace(MEGATRON[0]).parent
    alone, pool = (read_ranks([folder], workers=n).runs[0].summary.answer() for n in (1, 2))
    assert alone == pool


def on_ray(answer: str) -> str:
    """What `answer`, an expression about a folder, prints in a process of its own that reads on Ray.

    Ray gives its daemons 30 s to start. On a machine that is busier than that, another process gets another try.
    """
    environment = dict(os.environ)
    if importlib.util.find_spec("ray") is None:
        environment["PYTHONPATH"] = str(file_of("ray", f"lib/python3.{sys.version_info[1]}/site-packages"))
    folder = trace(MEGATRON[0]).parent
    script = f"from tests.golden.test_native_reader import *\nprint({answer.format(folder=f'Path({str(folder)!r})')})"
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
        )
        if "Ray could not be started" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


def job(folder: Path, **how: Any) -> str:
    """A job's figures, as text."""
    return json.dumps(as_json(read_ranks([folder], **how).runs[0].summary.answer()), sort_keys=True)


def digest(recording: Recording) -> str:
    """Every value of every table in one number."""
    found = hashlib.sha256()
    for table in recording.tables():
        for name, column in table.columns.items():
            found.update(f"{table.name}.{name}: {column.tolist()}\n".encode())
    return found.hexdigest()


@pytest.mark.serial
def test_ray_gives_the_same_answer() -> None:
    assert on_ray("job({folder}, engine='ray', workers=2)") == job(trace(MEGATRON[0]).parent, workers=1)


@pytest.mark.serial
def test_ray_opens_the_same_folder() -> None:
    assert on_ray("digest(open_folder({folder}, engine='ray'))") == digest(
        open_folder(trace(MEGATRON[0]).parent)
    )


def test_of_many_ranks_all_are_compared_and_the_late_ones_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "MAX_OPEN", 4)
    monkeypatch.setattr(ranks, "OPENED_OF_MANY", 2)
    folder = trace(MEGATRON[0]).parent
    recording = open_folder(folder)
    assert sorted(recording.table("processes").array("rank").tolist()) == [0, 6]
    losses = recording.table("losses")
    left_out = losses.array("count")[losses.text("cause").equals("traces_left_out")]
    assert left_out.tolist() == [6]
    whole = read_ranks([folder], workers=1).runs[0].summary.answer()
    assert VIEWS["gpu"].data(recording, ShowOptions()) == as_json(whole)


def test_the_gpu_view_tells_people_all_that_its_json_has() -> None:
    recording = native("samfast/asdf_True_b.json.gz")
    sheet = io.StringIO()
    show("gpu", VIEWS["gpu"].data(recording, ShowOptions()), Page(sheet), ShowOptions())
    text = sheet.getvalue()
    for heading in (
        "Overhead-bound", "Kernels, copies and sets", "critical path", "host's call to the device's start",
        "graph launches replay 558 events", "Runtime and driver calls", "host waits for the device",
        "without device work", "Copies and sets", "pageable", "tensor cores", "occupancy", "queue max", "MFU 0.5 %",
    ):  # fmt: skip
        assert heading in text, heading


def test_where_no_mfu_can_be_told_the_view_says_why() -> None:
    recording = native("kineto_tb/resnet50_nw0_a.json.gz")
    sheet = io.StringIO()
    show("gpu", VIEWS["gpu"].data(recording, ShowOptions()), Page(sheet), ShowOptions())
    assert "MFU unknown: no matrix operator runs in 16 bits" in sheet.getvalue()


def test_the_pair_of_the_kineto_docs_differs_as_its_makers_say() -> None:
    """Before the fix no wait knew what it waited for; after it both name stream 1 and the record call."""
    before = event_waits(native("kineto_docs/before_fix_trace.json").table("kernels"))
    after = event_waits(native("kineto_docs/after_fix_trace.json").table("kernels"))
    assert [w.resolved for w in before] == [False, False]
    assert [(w.awaits_stream, w.record_correlation) for w in after] == [(1, 100), (1, 100)]


@pytest.mark.slow
def test_compiling_sam_halves_the_kernels_and_leaves_the_host_as_the_bound() -> None:
    """The makers' large pair: kernel time 1202 → 532 ms, and the device waits for the host even more."""
    eager, compiled = (one(native(f"samfast/asdf_{x}_b.json.gz"), x).devices[0] for x in ("False", "True"))
    assert compiled.time.compute_ns < 0.5 * eager.time.compute_ns
    assert compiled.verdict.bound == eager.verdict.bound == "overhead-bound"
    assert compiled.verdict.shares["overhead"] > eager.verdict.shares["overhead"] + 0.2
