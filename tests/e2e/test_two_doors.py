"""A window of `sonde run` and the same trace file imported by hand give the same tables, column by column."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sonde
from sonde import rawfolder
from sonde.analyze.base.grouping import rows_of
from sonde.ingest import open_any
from sonde.ingest.kineto import reader as kineto
from sonde.native import agent_path
from sonde.record.frameworks.collect import framework_tables
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from tests.fixtures.doors import assert_same
from tests.unit.ingest.synthetic import event

PROGRAM = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 32 * 32, 64),
)
attention = torch.nn.MultiheadAttention(64, 4, batch_first=True)
optimizer = torch.optim.AdamW([*model.parameters(), *attention.parameters()])
x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
for _ in range(4):
    optimizer.zero_grad()
    hidden = model(x)[None]
    torch.nn.functional.cross_entropy(attention(hidden, hidden, hidden)[0][0], y).backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors")
    (folder / "train.py").write_text(PROGRAM)
    words = ["-m", "sonde", "run", "--window", "all", "--keep-raw", "-o", "out.sonde", "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(Path(sonde.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "out.sonde"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native")
def test_a_window_gives_the_same_tables_through_both_doors(recorded: Path) -> None:
    ((_, _, window),) = rawfolder.WINDOW_TRACE.find(recorded / rawfolder.FOLDER)
    own, imported = open_recording(recorded), kineto.read(window)
    compared = assert_same(own, imported, same_pace=own.meta.details["torch_clock_drift"] == 0)
    assert compared["ops"] > 500
    assert compared["memory"] > 100
    ops = own.table("ops")
    assert (rows_of(ops.array("op"), ops.array("forward_op")) >= 0).sum() > 100
    assert np.isfinite(ops.array("flops")).any()
    assert ops.array("cpu_mem_bytes").any()


def test_a_trace_of_a_gpu_gives_the_same_tables_through_both_doors(tmp_path: Path) -> None:
    """The program's own profiler exported it (raw/PID.own-traces.jsonl), or it was given to `sonde show`."""
    shapes = {"Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"]}
    events = [
        event("cpu_op", "aten::mm", 10, 30, **{"External id": 5, "Sequence number": 1, "Fwd thread id": 0}, **shapes),
        event("cuda_runtime", "cudaLaunchKernel", 12, 3, correlation=100, **{"External id": 5}),
        event("kernel", "gemm", 20, 9, stream=7, device=0, correlation=100),
        event("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 50, 30, tid=2,
              **{"External id": 6, "Sequence number": 1, "Fwd thread id": 1}),
        event("cpu_op", "aten::mm", 52, 20, tid=2, **{"External id": 7}, **shapes),
        event("cuda_runtime", "cudaLaunchKernel", 55, 3, tid=2, correlation=101, **{"External id": 7}),
        event("kernel", "gemm_backward", 60, 9, stream=7, device=0, correlation=101),
        event("cuda_runtime", "cudaMemcpyAsync", 85, 3, correlation=102),
        event("gpu_memcpy", "Memcpy DtoH", 90, 9, stream=7, device=0, correlation=102, bytes=512),
        {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 15,
         "args": {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Bytes": 512, "Total Allocated": 512}},
        {"ph": "C", "name": "GPU power", "pid": 1, "tid": 1, "ts": 30, "args": {"W": 250.5}},
    ]  # fmt: skip
    raw = tmp_path / "raw"
    raw.mkdir()
    trace = raw / rawfolder.OWN_TRACE.name(1)
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    line = {"path": str(trace), "from": "mine.json", "time_ns": 0, "epoch_offset_ns": -1_000_000}
    (raw / rawfolder.OWN_TRACES.name(1)).write_text(json.dumps(line) + "\n")
    told = framework_tables(raw)
    compared = assert_same(Recording(Meta(), told.tables), open_any(trace), same_pace=True)
    assert (compared["ops"], compared["launches"], compared["kernels"]) == (3, 3, 3)
    assert (compared["memory"], compared["counters"]) == (1, 1)
    assert int(told.tables["ops"].array("start_ns").min()) == 1_000_000 + 10_000
