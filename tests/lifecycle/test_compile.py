"""torch.compile under observation: the same graphs, no further breaks, no recompiles."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle.observed import needs_torch, run

pytestmark = needs_torch

PROGRAM = """
import torch, json
from torch._dynamo.utils import counters
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(6, 8), torch.nn.Linear(8, 2)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
net = Net()
whole = torch.compile(net, fullgraph=True, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(4, 6)
@torch.compile(backend="aot_eager")
def broken(x):
    y = net(x)
    print("break")
    return y * 2
for _ in range(12):
    optimizer.zero_grad()
    whole(x).sum().backward()
    optimizer.step()
for _ in range(3):
    broken(x)
breaks = sum(counters["graph_break"].values())
print(json.dumps([counters["stats"]["unique_graphs"], breaks, len(counters["recompiles"])]))
"""


def test_compilation_is_the_same_with_and_without_observers(tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    done = run(tmp_path / "seen", PROGRAM, window="steps=4:8")
    assert done.code == 0, done.stderr
    # One graph of the whole model; `broken` makes two parts around its print.
    assert done.stdout.splitlines() == ["break"] * 3 + ["[3, 1, 0]"]
    assert done.marks("step") == 12
    assert done.framework().windows == 1
    names = done.framework().tables["ops"].text("name").tolist()
    assert any((name or "").startswith("Torch-Compiled Region") for name in names), set(names)


def test_compilations_breaks_and_recompiles_are_noted(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        @torch.compile(backend="aot_eager", dynamic=False)
        def work(x):
            y = x.exp()
            print("break")
            return y + 1
        for size in (3, 3, 4):
            work(torch.ones(size))
        """,
    )
    assert (done.code, done.stderr) == (0, "")
    marks = done.framework().tables["marks"]
    marks = marks.take(marks.text("kind").equals("compile"))
    extras = [json.loads(text or "{}") for text in marks.text("extra").tolist()]
    rows = list(zip(marks.text("name").tolist(), extras, strict=True))
    compiled = [extra for name, extra in rows if name == "work"]
    assert len(compiled) == 2
    assert "size mismatch" in compiled[1]["recompile_reason"]
    assert compiled[0]["file"].endswith("program.py")
    assert (marks.array("end_ns") >= marks.array("start_ns")).all()
    breaks = [extra for name, extra in rows if name == "graph_break"]
    assert {found["line"] for found in breaks} == {6}
    assert "print" in breaks[0]["reason"]


def test_an_optimizer_inside_a_compiled_function_does_not_hide_the_steps(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        model = torch.nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        @torch.compile(backend="eager")
        def update():
            optimizer.step()
        @torch.compile(backend="eager")
        def helper(x):
            return x + 1
        for batch in range(12):      # gradients of two batches per step
            model(helper(torch.ones(2, 3))).sum().backward()
            if batch % 2:
                update()
                optimizer.zero_grad()
        assert update.__name__ == "update" and hasattr(update, "_torchdynamo_orig_callable")
        """,
    )
    assert done.code == 0, done.stderr  # torch itself warns that it ignores a record function
    assert done.marks("phase", "optimizer") == 0
    assert done.marks("phase", "backward") == 12
    assert done.marks("step") == done.marks("step", "train") == 6


def test_a_training_step_compiled_as_a_whole_is_a_step(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        model = torch.nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        @torch.compile(backend="eager")
        def train(x):
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            return loss
        for _ in range(7):
            train(torch.ones(2, 3))
        """,
    )
    assert done.code == 0, done.stderr  # torch itself warns that it ignores a record function
    assert done.marks("step") == done.marks("step", "train") == 7


FUSED = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
    def forward(self, x):
        h = torch.relu(self.a(x)) * 2
        return torch.sigmoid(self.b(h))
net = Net()
whole = torch.compile(net)
for _ in range(2):
    whole(torch.ones(4, 16)).sum().backward()
"""


def _kernels(folder: Path, environment: dict[str, str]) -> dict[str, dict[str, Any]]:
    folder.mkdir()
    done = run(folder, FUSED, environment=environment)
    assert (done.code, done.stderr, done.causes()) == (0, "", [])
    marks = done.framework().tables["marks"]
    marks = marks.take(marks.text("kind").equals("compile") & marks.text("name").equals("kernel"))
    extras = [json.loads(text or "{}") for text in marks.text("extra").tolist()]
    return {f"{extra['direction']} {extra['kernel']}": extra for extra in extras}


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler, and there is no g++")
def test_kernels_know_their_operators_and_lines_also_from_the_compilers_cache(tmp_path: Path) -> None:
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "SONDE_CACHE": str(tmp_path / "sonde")}
    fresh = _kernels(tmp_path / "fresh", environment)
    kernel = fresh["forward cpp_fused_mul_relu_threshold_backward_0"]
    assert set(kernel["fused"]) == {"aten::mul", "aten::relu", "aten::threshold_backward"}
    assert {(s["line"], s["code"]) for s in kernel["sources"]} == {(8, "h = torch.relu(self.a(x)) * 2")}
    assert Path(kernel["library"]).exists()
    assert kernel["provenance"] == "compiler"
    product = fresh["forward extern_kernels.addmm"]
    assert {source["line"] for source in product["sources"]} == {8, 9}
    assert set(product["modules"]) == {"a", "b"}
    backward = [e for e in fresh.values() if e["direction"] == "backward" and e["kernel"].startswith("cpp")]
    # Backward kernels carry the lines of the forward pass that they belong to.
    assert {s["line"] for e in backward for s in e["sources"]} <= {8, 9}
    assert any("aten::sigmoid_backward" in e["fused"] for e in backward)

    again = _kernels(tmp_path / "again", environment)
    assert {name: e["provenance"] for name, e in again.items()} == dict.fromkeys(fresh, "cache")
    assert again["forward extern_kernels.addmm"]["sources"] == product["sources"]

    unknown = _kernels(tmp_path / "unknown", {**environment, "SONDE_CACHE": ""})
    named = unknown["forward cpp_fused_mul_relu_threshold_backward_0"]
    assert (named["provenance"], set(named["fused"])) == ("name", set(kernel["fused"]))
    assert "sources" not in named  # better none than a wrong one
