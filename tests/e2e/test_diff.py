"""`sonde diff` on real programs: the main rows are the ones that the change is known to move."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.render.reading import read_page

pytestmark = pytest.mark.serial

pytest.importorskip("torch", reason="the programs compared need torch")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ONE = {"OMP_NUM_THREADS": "1"}
# A slowed line of plain Python and a function under another name, in a program with real steps.
PLANTED = """
import sys, time, torch
VARIANT = sys.argv[1]
def {load}(model):
    end = time.thread_time() + 0.004
    while time.thread_time() < end: pass
    return torch.ones(8, 16)
def train(model, optimizer):
    loss = model({load}(model)).sum()
    if VARIANT == "b":
        end = time.thread_time() + 0.006
        while time.thread_time() < end: pass
    optimizer.zero_grad(); loss.backward(); optimizer.step()
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(60):
    train(model, optimizer)
"""


def sonde(*words: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonde", *map(str, words)],
        text=True, capture_output=True, timeout=300, env={**os.environ, **(env or ONE)},
    )  # fmt: skip


def record(folder: Path, script: Path, *words: str, env: dict[str, str] | None = None, run: str = "") -> Path:
    options = run.split()
    done = sonde("run", "--quiet", *options, "-o", folder, script, *words, env=env)
    assert done.returncode == 0, done.stderr
    return folder


def rows(found: dict[str, Any], dimension: str, sure: bool = True) -> dict[str, dict[str, Any]]:
    return {r["name"]: r for r in found["rows"] if r["dimension"] == dimension and (r["sure"] or not sure)}


def test_a_slowed_line_and_a_renamed_function(tmp_path: Path) -> None:
    folders = []
    for variant, load in (("a", "load_batch"), ("b", "read_batch")):
        place = tmp_path / variant
        place.mkdir()
        (place / "train.py").write_text(PLANTED.replace("{load}", load))
        folders.append(record(place / "r.sonde", place / "train.py", variant, run="--rate 500"))
    done = sonde("diff", *folders, "--json", "--fail-if-slower", "3%", "--markdown", tmp_path / "d.md")
    assert done.returncode == 1, done.stderr
    assert "slower by" in done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "slower"
    slowed = max(rows(found, "line").values(), key=lambda r: float(r["difference"]))
    assert (slowed["name"], slowed["a"]) == ("train.py:12 train", 0.0)
    assert 3.0 < slowed["low"] <= 6.6, "6 ms of CPU time were planted, and reading the clock takes some"
    renamed = rows(found, "function", sure=False)
    assert any(r["note"] == "renamed?" and "load_batch → read_batch" in name for name, r in renamed.items())
    assert "× slower (" in (tmp_path / "d.md").read_text().splitlines()[0]
    page = tmp_path / "d.html"
    printed = sonde("diff", *folders, "--html", page)
    assert printed.stdout.startswith(found["headline"])
    assert read_page(page, "sonde-data-b")["facts"]["comparison"] == found, (
        "the page has the figures of --json"
    )
    assert sonde("diff", folders[0], folders[0], "--fail-if-slower", "3%").returncode == 0


def test_two_threads_against_one(tmp_path: Path) -> None:
    words = ("--steps", "300")  # a second and more of work on fast machines, too
    one = record(tmp_path / "1.sonde", EXAMPLES / "mlp.py", *words)
    two = record(tmp_path / "2.sonde", EXAMPLES / "mlp.py", *words, env={"OMP_NUM_THREADS": "2"})
    found = json.loads(sonde("diff", one, two, "--json").stdout)
    assert found["changed"] == ["OMP_NUM_THREADS: 1 → 2"]
    appeared = [name for name, r in rows(found, "state").items() if r["a"] == 0 and name.startswith("omp ")]
    assert appeared, "the workers of the pool are the change"
    page = tmp_path / "d.html"
    assert sonde("diff", one, two, "--html", page).returncode == 0
    assert page.stat().st_size > 100_000


def test_mkldnn_off(tmp_path: Path) -> None:
    script = tmp_path / "switch.py"
    script.write_text(
        "import runpy, sys, torch\nwords = sys.argv[1:]\n"
        "with torch.backends.mkldnn.flags(enabled=words[0] == 'on'):\n"
        f"    sys.argv = ['convnet.py', *words[1:]]\n    runpy.run_path({str(EXAMPLES / 'convnet.py')!r}, "
        "run_name='__main__')\n"
    )
    words = ("--steps", "24", "--batch", "4", "--width", "16")
    run = "--window steps=4:20 --primitives --rate 200"
    on, off = (record(tmp_path / f"{w}.sonde", script, w, *words, run=run) for w in ("on", "off"))
    found = json.loads(sonde("diff", on, off, "--json").stdout)
    ops = rows(found, "op")
    gone = {name for name, r in ops.items() if r["b"] == 0}
    new = {name for name, r in ops.items() if r["a"] == 0}
    assert "aten::mkldnn_convolution" in gone
    assert "aten::_slow_conv2d_forward" in new
    primitives = rows(found, "primitive", sure=False)
    assert any("convolution" in name and r["b"] == 0 for name, r in primitives.items())
    assert primitives["sgemm"]["b"] > primitives["sgemm"]["a"], "MKL does the work instead"


def test_unlike_recordings_are_refused_and_sides_need_a_word(tmp_path: Path) -> None:
    script = tmp_path / "p.py"
    script.write_text("sum(range(2_000_000))\n")
    a = record(tmp_path / "a.sonde", script)
    b = record(tmp_path / "b.sonde", script, run="--rate 500")
    refused = sonde("diff", a, b)
    assert refused.returncode == 2
    assert "sampling rate: 100.0 Hz in a.sonde, 500.0 Hz in b.sonde" in refused.stderr
    assert "--force" in refused.stderr
    assert sonde("diff", a, b, "--force").returncode == 0
    three = sonde("diff", a, a, a)
    assert three.returncode == 2
    assert "vs" in three.stderr
    several = json.loads(sonde("diff", a, a, "vs", a, a, "--json").stdout)
    assert several["repetitions"] == {"kind": "recordings", "a": 2, "b": 2}
    assert sonde("diff", a, tmp_path / "none.sonde").returncode == 3
    assert sonde("diff", a, a, "--fail-if-slower", "much").returncode == 2


def test_eager_against_compiled(tmp_path: Path) -> None:
    if subprocess.run(["sh", "-c", "command -v g++ || command -v c++"], capture_output=True).returncode:
        pytest.skip("torch.compile needs a C++ compiler")
    words = ("--steps", "400")
    env = {**ONE, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    sides = [
        record(tmp_path / f"{len(flag)}.sonde", EXAMPLES / "matmul_add.py", *words, *flag, env=env)
        for flag in ((), ("--compile",))
    ]
    found = json.loads(sonde("diff", *sides, "--json").stdout)
    assert (found["unit"], found["stepless"]) == ("run", "A"), "both sides are split by one unit"
    ops = rows(found, "op", sure=False)
    met = [r for name, r in ops.items() if "⟷" in name and "aten::mm" in name]
    assert len(met) == 1, ops.keys()
    assert met[0]["note"] == "fused"
    assert 0.3 < met[0]["b"] / met[0]["a"] < 3, "the same products are done on both sides"
