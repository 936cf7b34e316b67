"""Quality figures from tables with known content."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sonde.analyze.recording.quality import PerSample, quality
from sonde.columns import Table, Text
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions

AGENT = {
    "handler_ns": 3e6,
    "background_cpu_ns": 2e6,
    "samples": 1000,
    "walk_p50_ns": 7e3,
    "walk_p95_ns": 2e4,
    "handler_p50_ns": 9e3,
    "handler_p95_ns": 3e4,
}


def tables() -> dict[str, Table]:
    names = ["main", "train", "forward", "aten::mm", "net", "kernel", "libx.so+0x10", "jit:conv", "pool"]
    layers = ["native", "python", "python", "op", "module", "native", "native", "jit", "label"]
    frames = build.table(
        "frames",
        frame=range(len(names)),
        layer=Text.of(layers),
        name=Text.of(names),
        full_name=Text.of([None if "+" in n else n for n in names]),
        file=Text.of([None, "/me/train.py", "/x/site-packages/torch/nn.py", *[None] * 6]),
    )
    chain = [0, 1, 4, 2, 3, 5]  # main train net forward mm kernel
    stacks = build.table(
        "stacks",
        stack=range(9),
        parent=[-1, 0, 1, 2, 3, 4, 0, 4, 7],
        frame=[*chain, 6, 7, 8],
        heuristic=[False] * 7 + [True, False],
    )
    samples = build.table(
        "samples",
        time_ns=range(6),
        thread=[0, 0, 0, 1, 0, 2],
        stack=[5, 6, 7, 8, 5, 5],
        state=Text.of(["running", "running", "running", "imbalance", "waiting", "running"]),
        weight_ns=[10**9, 10**9, 10**9, 10**9, 5 * 10**9, 10**9],
        owner=[-1, -1, -1, 0, -1, -1],
        walk=Text.of(["root", "no_cfi", "root", "root", "root", "residual"]),
        anchor=Text.of(["hit", "missed", "hit", "none", "none", "none"]),
    )
    return {
        "processes": build.table(
            "processes",
            process=[0],
            pid=[1],
            start_ns=[0],
            end_ns=[4 * 10**9],
            cpu_user_ns=[4 * 10**9],
            cpu_system_ns=[10**9],
        ),
        "threads": build.table(
            "threads", thread=[0, 1, 2], process=[0, 0, 0], kind=Text.of(["main", "omp", "native"])
        ),
        "frames": frames,
        "stacks": stacks,
        "samples": samples,
        "counters": build.table(
            "counters",
            process=[0] * 7,
            name=Text.of([f"agent_{name}" for name in AGENT]),
            value=list(AGENT.values()),
        ),
        "marks": build.empty("marks"),
        "losses": build.table("losses", cause=Text.of(["ring_full", "ring_full"]), count=[2, 3]),
    }


def test_shares_are_of_on_cpu_samples_with_a_stack() -> None:
    found = quality(tables())
    everything = found.attributed["all"]
    assert (found.samples, found.waits) == (4, 1)
    assert everything.samples == 4
    assert everything.python == 0.75  # the one in libx has no Python frame
    assert everything.op == everything.module == 0.75
    assert everything.leaf == 0.75
    assert everything.root == 0.75
    assert found.attributed["jit"].samples == 1
    assert found.attributed["workers"].samples == 1
    assert found.attributed["workers"].leaf == 1.0
    assert found.heuristic == 0.5
    assert found.anchor_missed == pytest.approx(1 / 3)


def test_a_sample_counts_by_the_cpu_time_that_it_stands_for() -> None:
    changed = tables()
    weight = [10**9, 5 * 10**9, 10**9, 10**9, 5 * 10**9, 10**9]  # the one in libx stands for five seconds
    changed["samples"] = changed["samples"].with_columns(weight_ns=np.array(weight, np.int64))
    everything = quality(changed).attributed["all"]
    assert (everything.samples, everything.python, everything.op, everything.leaf) == (4, 3 / 8, 3 / 8, 3 / 8)
    assert quality(changed).anchor_missed == pytest.approx(1 / 3)  # of walks, not of time


def test_walk_and_handler_are_told_apart() -> None:
    found = quality(tables()).per_sample
    assert found == PerSample(walk_p50_ns=7e3, walk_p95_ns=2e4, handler_p50_ns=9e3, handler_p95_ns=3e4)
    without = tables()
    without["counters"] = build.empty("counters")
    assert quality(without).per_sample is None


def test_cpu_time_counts_residuals_and_not_waits() -> None:
    found = quality(tables())
    assert found.cpu.sampled_ns == 5 * 10**9
    assert found.cpu.whole_ns == 5 * 10**9
    assert found.duration_s == 4.0
    assert found.lost == {"ring_full": 5}


def test_the_object_has_the_documented_keys_and_no_nan() -> None:
    recording = Recording(Meta(), tables())
    text = json.dumps(VIEWS["quality"].data(recording, ShowOptions()), allow_nan=False)
    data = json.loads(text)
    assert set(data) >= {"samples", "duration_s", "cpu_s", "lost", "overhead", "attributed"}
    assert set(data["attributed"]) == {"all", "jit", "workers"}
    assert set(data["attributed"]["all"]) == {"samples", "python", "op", "module", "leaf", "root"}
    assert data["overhead"]["low"] <= data["overhead"]["share"] <= data["overhead"]["high"]


def test_a_program_without_files_of_its_own_counts_any_python_frame() -> None:
    changed = tables()
    frames = changed["frames"]
    files = Text.of([None, "/usr/lib/python3.11/runpy.py", *[None] * 7])
    changed["frames"] = frames.with_columns(file=files)
    assert quality(changed).attributed["all"].python == 0.75


def test_empty_tables_give_no_shares() -> None:
    found = quality({name: build.empty(name) for name in tables()})
    assert found.attributed["all"].python is None
    assert found.overhead.share is None
    assert found.cpu.whole_ns is None
    assert found.cpu.share is None
