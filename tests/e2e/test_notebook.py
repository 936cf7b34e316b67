"""Notebooks: `%load_ext sonde`, `%%sonde`, and `sonde.load` with the packages that people use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sonde
from sonde.errors import EnvironmentLacks, UsageError
from tests.e2e.test_assistants import gpt_run
from tests.e2e.test_entries import execute, notebook
from tests.environments import ROOT, python_of

LOADED = """
import sonde
rec = sonde.load("gpt.sonde")
sql = "SELECT name, calls FROM op_summary ORDER BY self_ms DESC LIMIT 3"
frame, polar, arrow = rec.pandas(sql=sql), rec.polars(sql=sql), rec.arrow(sql=sql)
assert list(frame["name"]) == polar["name"].to_list() == arrow.column("name").to_pylist()
assert list(frame["calls"]) == polar["calls"].to_list() == arrow.column("calls").to_pylist()
for table in ("samples", "ops", "frames", "processes", "account"):
    sizes = len(rec.pandas(table)), len(rec.polars(table)), rec.arrow(table).num_rows
    assert len(set(sizes)) == 1 and sizes[0] > 0, (table, sizes)
assert rec.pandas("samples")["weight_ns"].sum() == sum(rec.numpy("samples")["weight_ns"])
print("three agree:", ", ".join(frame["name"]))
"""


def test_a_cell_shows_operators_insights_and_the_report(tmp_path: Path) -> None:
    python = python_of("jupyter", "ipykernel")
    train = "import torch\nm, x = torch.nn.Linear(64, 64), torch.randn(32, 64)"
    magic = "%%sonde cell.sonde\nfor _ in range(20):\n    m(x).sum().backward()\nprint('the cell ran')"
    notebook(tmp_path / "work.ipynb", "%load_ext sonde", train, magic)
    done = subprocess.run(
        [python, *execute("work.ipynb", "--output", "done.ipynb")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = json.loads((tmp_path / "done.ipynb").read_text())["cells"][2]["outputs"]
    printed = "".join("".join(one.get("text", "")) for one in outputs)
    assert "the cell ran" in printed
    assert "aten::addmm" in printed
    assert "sonde show cell.sonde ops" in printed
    shown = "".join("".join(one.get("data", {}).get("text/html", "")) for one in outputs)
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert "srcdoc=" in shown
    assert (tmp_path / "cell.sonde" / "meta.json").exists()


def test_load_gives_the_same_rows_to_pandas_polars_and_arrow(tmp_path: Path) -> None:
    python = python_of("jupyter", "polars")
    gpt_run(tmp_path / "gpt.sonde")
    done = subprocess.run(
        [python, "-W", "error::FutureWarning", "-c", LOADED],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "aten::_addmm_impl" in done.stdout


def test_load_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rec = sonde.load(gpt_run(tmp_path / "gpt.sonde"))
    assert "recording of" in repr(rec)
    assert isinstance(rec.insights(), list)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(EnvironmentLacks, match="polars is not installed here"):
        rec.polars("ops")
    with pytest.raises(UsageError, match="there is no table 'opps'"):
        rec.numpy("opps")
    with pytest.raises(UsageError, match="give the name of a table"):
        rec.numpy()
