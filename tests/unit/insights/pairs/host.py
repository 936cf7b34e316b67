"""Rules about the host's own time and about input: told by samples, marks and settings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from sonde.columns import Table
from sonde.store import build
from sonde.store.recording import Recording
from tests.unit.insights.made_loop import BACKWARD, LOOP, MODEL, MS, UPDATE, Frame, Spent, line, loop, op
from tests.unit.insights.pairs.recordings import START, made, with_phase_facts
from tests.unit.insights.planted import mark

STEP_MS = 17  # of MODEL, BACKWARD and UPDATE
OPTIM = "/x/site-packages/torch/optim/adam.py"


def native(name: str) -> Frame:
    return ("native", name, {"library": "libtorch_cpu.so"})


def library(name: str, file: str) -> Frame:
    return ("python", name, {"file": f"/x/site-packages/{file}", "line": 3})


def model(*more: Spent, **facts: Any) -> Recording:
    """A training step, and what else it spends its time on."""
    return made(MODEL, BACKWARD, UPDATE, *more, **facts)


def compiled(*extras: dict[str, Any], name: str = "forward", length_ms: int = 200) -> Table:
    begin = START + 20 * STEP_MS * MS
    rows = [
        mark("compile", [begin + i * MS], length_ms * MS, name, extra=json.dumps(e))
        for i, e in enumerate(extras)
    ]
    return build.concat("marks", rows)


DYNAMO = Spent(6, 20, (library("inner_fn", "torch/_dynamo/eval_frame.py"),), "forward")
BREAK = {"reason": "Tensor.item()", "file": "/home/u/train.py", "line": 20}
NEXT = library("__next__", "torch/utils/data/dataloader.py")
FETCH = library("fetch", "torch/utils/data/_utils/fetch.py")


def batch(ms: int, *frames: Frame, state: str = "waiting", reason: str | None = "lock") -> Spent:
    """Time in the loader's `__next__`."""
    return Spent(ms, 19, (NEXT, *frames), "dataloader", state, reason if state == "waiting" else None)


def restarts(persistent: bool) -> Recording:
    """Four epochs, each of which waits 14 ms for new workers."""
    starts = [START + step * (STEP_MS + 1) * MS for step in (12, 24, 36, 48)]
    marks = build.concat(
        "marks", [mark("phase", starts, MS, "dataloader_start"), mark("phase", starts, 14 * MS, "dataloader")]
    )
    says = {"loaders": [{"num_workers": 2, "persistent_workers": persistent}]}
    return model(batch(1), says=says, marks=marks)


def first_step(compiling_s: int) -> Recording:
    """A first step of 15 s, so much of which compiles."""
    run = loop(MODEL, BACKWARD, UPDATE)
    marks = run.table("marks")
    first = marks.text("kind").equals("step") & (marks.array("start_ns") == marks.array("start_ns").min())
    begin = int(marks.array("start_ns").min()) - 15_000 * MS
    longer = marks.with_columns(start_ns=np.where(first, begin, marks.array("start_ns")))
    marks = build.concat(
        "marks", [longer, mark("compile", [begin + MS], compiling_s * 1_000 * MS, "forward")]
    )
    return Recording(
        replace(run.meta, duration_s=20.0), {**{t.name: t for t in run.tables()}, "marks": marks}
    )


def collected(generation: int) -> Recording:
    starts = [START + step * STEP_MS * MS for step in (20, 40)]
    return model(marks=mark("gc", starts, 30 * MS, f"generation {generation}", number=generation))


def inference(grad: bool) -> Recording:
    edge = native("torch::autograd::collect_next_edges")
    return with_phase_facts(made(MODEL, Spent(3, 20, (edge,), "forward")), "forward", grad=grad)


def updates(optimizer: str) -> Recording:
    frames = (("python", "_single_tensor_x", {"file": OPTIM, "line": 9}), op("aten::add_"), LOOP)
    return model(Spent(9, 22, frames, "optimizer"), says={"optimizers": [{"class": optimizer, "tensors": 4}]})


def zeroed(operator: str) -> Recording:
    return model(
        Spent(3, 23, (("python", "Optimizer.zero_grad", {"file": OPTIM, "line": 8}), op(operator), LOOP))
    )


JSON = ("native", "scan_once_unicode", {"library": "_json.cpython-311-x86_64-linux-gnu.so"})
STRTOD = ("native", "_Py_dg_strtod", {"library": "libpython3.11.so.1.0"})
# Twenty lines of the loop's own Python, one millisecond each.
SPREAD = [Spent(1, 40, (line(50 + i, f"part{i}"),)) for i in range(20)]

PAIRS = {
    "constant_rebuilt": (
        lambda: model(Spent(5, 30, (native("torch::utils::internal_new_from_data"),))),
        lambda: model(batch(5, native("torch::utils::internal_new_from_data"), state="running")),
    ),
    "parsed_text": (
        lambda: model(Spent(6, 30, (line(31), JSON, STRTOD))),
        lambda: model(Spent(6, 30, (line(31), JSON))),
    ),
    "costly_line": (
        lambda: model(Spent(6, 30, (line(31),), state="waiting", reason="sleep")),
        lambda: model(Spent(6, 20, MODEL.frames, "forward")),
    ),
    "costly_kind": (lambda: model(*SPREAD), lambda: model(*SPREAD[:4])),
    "debug_left_on": (
        lambda: model(Spent(4, 21, (native("AnomalyMetadata::store_stack"),)), says={"detect_anomaly": True}),
        lambda: model(Spent(4, 21, (native("AnomalyMetadata::store_stack"),)), says={"detect_anomaly": False}),
    ),
    "gc_pauses": (lambda: collected(2), lambda: collected(0)),
    "gil_contention": (
        lambda: model(Spent(8, 24, (), state="waiting", reason="gil")),
        lambda: model(Spent(8, 24, (), state="waiting", reason="sleep")),
    ),
    "io_in_step": (
        lambda: model(Spent(8, 24, (library("save", "torch/serialization.py"),))),
        lambda: model(Spent(8, 24, (library("load", "torch/serialization.py"),))),
    ),
    "python_overhead": (
        lambda: model(Spent(8, 25, (line(26),))),
        lambda: model(Spent(8, 25, (line(26), op("aten::add"), LOOP))),
    ),
    "missing_inference_mode": (lambda: inference(True), lambda: inference(False)),
    "per_tensor_optimizer": (lambda: updates("Adam"), lambda: updates("SGD")),
    "zero_grad": (lambda: zeroed("aten::zero_"), lambda: zeroed("aten::add_")),
    "warm_up": (lambda: first_step(12), lambda: first_step(0)),
    "graph_breaks": (
        lambda: made(MODEL, BACKWARD, DYNAMO, marks=compiled(BREAK, name="graph_break", length_ms=0)),
        lambda: made(MODEL, BACKWARD, marks=compiled(BREAK, name="graph_break", length_ms=0)),
    ),
    "recompiles": (
        lambda: model(marks=compiled(*[{"recompile_reason": "size mismatch"}] * 3)),
        lambda: model(marks=compiled({}, {}, {})),
    ),
    "loader_stall": (
        lambda: model(batch(8), says={"loaders": [{"num_workers": 2}]}),
        lambda: model(batch(1), says={"loaders": [{"num_workers": 2}]}),
    ),
    "synchronous_loader": (
        lambda: model(batch(8, reason="io"), says={"loaders": [{"num_workers": 0}]}),
        lambda: model(batch(8, reason="io"), says={"loaders": [{"num_workers": 2}]}),
    ),
    "worker_restart": (lambda: restarts(False), lambda: restarts(True)),
    "collate_bound": (
        lambda: model(batch(8, native("recursive_store"), state="running")),
        lambda: model(batch(8, native("memcpy"), state="running")),
    ),
    "storage_bound": (
        lambda: model(batch(8, FETCH, reason="io")),
        lambda: model(batch(8, FETCH, reason="sleep")),
    ),
}  # fmt: skip
