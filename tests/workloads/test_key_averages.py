"""The operator table against torch.profiler's own, row by row, on one and the same profile.

The profile is exported as a Chrome trace and read by Sonde; `key_averages()` of the same
profile is the reference. Times to the nanosecond, memory to the byte.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

from sonde.analyze.ops.table import op_table
from sonde.columns import Table
from sonde.ingest.kineto import reader as kineto

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed for this Python"
)

Row = tuple[int, int, int, int, int]


def _block(width: int) -> Any:
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                nn.BatchNorm2d(width),
            )

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.body(x) + x)

    return Block()


def _resnet() -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(3, 16, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        _block(16),
        _block(16),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )


def _profile(work: Any, folder: Path) -> tuple[Any, Table, Table]:
    import torch

    work()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True
    ) as profiler:
        work()
    path = folder / "trace.json"
    profiler.export_chrome_trace(str(path))
    recording = kineto.read(path)
    return profiler, recording.table("ops"), recording.table("memory")


def _theirs(averages: Any) -> list[tuple[str, Row]]:
    rows = []
    for row in averages:
        rows.append(
            (
                row.key,
                (
                    row.count,
                    round(row.cpu_time_total * 1000),
                    round(row.self_cpu_time_total * 1000),
                    row.cpu_memory_usage,
                    row.self_cpu_memory_usage,
                ),
            )
        )
    return sorted(rows)


def _ours(table: Table) -> list[tuple[str, Row]]:
    columns = ("calls", "total_ns", "self_ns", "cpu_mem_bytes", "self_cpu_mem_bytes")
    return sorted(
        (table.text("name")[i] or "", tuple(int(table.array(c)[i]) for c in columns))  # type: ignore[misc]
        for i in range(len(table))
    )


def _compare(work: Any, folder: Path) -> None:
    profiler, ops, memory = _profile(work, folder)
    assert len(ops) > 50
    assert _ours(op_table(ops, memory)) == _theirs(profiler.key_averages())
    by_shape = _ours(op_table(ops, memory, by="shape"))
    assert by_shape == _theirs(profiler.key_averages(group_by_input_shape=True))


def test_inference_of_the_tutorial(tmp_path: Path) -> None:
    import torch

    model, inputs = _resnet().eval(), torch.randn(5, 3, 64, 64)

    def work() -> None:
        with torch.no_grad(), torch.profiler.record_function("model_inference"):
            model(inputs)

    _compare(work, tmp_path)


def test_training(tmp_path: Path) -> None:
    import torch

    model = torch.nn.Sequential(_resnet(), torch.nn.ReLU(), torch.nn.Linear(10, 10))
    optimizer = torch.optim.Adam(model.parameters())
    inputs, labels = torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))

    def work() -> None:
        for _ in range(2):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()

    _compare(work, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs g++")
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    model = torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8)))
    inputs = torch.randn(4, 8)

    def work() -> None:
        for _ in range(20):
            model(inputs).sum().backward()

    _compare(work, tmp_path)
