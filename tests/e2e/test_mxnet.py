"""MXNet's two paths, oneDNN and plain BLAS: the same program twice, and `sonde diff` says what took whose place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from sonde.store.reader import open_recording
from tests.environments import python_of

ROOT = Path(__file__).resolve().parents[2]
STEPS, BATCH = 60, 1024  # large batches: half a second in the kernels of either side
WITHOUT_ONEDNN = (
    "MXNET_USE_ONEDNN=0\nMXNET_USE_MKLDNN=0\nMXNET_MKLDNN_ENABLED=0\nMXNET_STORAGE_FALLBACK_LOG_VERBOSE=0\n"
)


def sonde(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "sonde", *words]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_the_diff_of_onednn_and_plain_blas_names_both_kernels(tmp_path: Path) -> None:
    python = python_of("mxnet", "mxnet")
    (tmp_path / "blas.env").write_text(WITHOUT_ONEDNN)
    program = [python, str(ROOT / "examples" / "mxnet_mlp.py"), "--steps", str(STEPS)]
    program += ["--batch", str(BATCH)]
    run = ("run", "--quiet", "--rate", "500", "--window", "all")
    sonde(tmp_path, *run, "-o", "onednn.sonde", "--", *program)
    sonde(tmp_path, *run, "--env-file", "blas.env", "-o", "blas.sonde", "--", *program)
    # Operators and calls of the API are in one table: three dense layers per step, one backward pass.
    for name in ("onednn", "blas"):
        names = open_recording(tmp_path / f"{name}.sonde").table("ops").text("name").tolist()
        assert names.count("FullyConnected") == 3 * STEPS
        assert names.count("MXAutogradBackwardEx") == STEPS
    found = json.loads(sonde(tmp_path, "diff", "onednn.sonde", "blas.sonde", "--json").stdout)
    kernels = [row for row in found["rows"] if row["sure"] and row["source"] == "samples"]
    # A handful of samples may be on the other side: numpy calls the same OpenBLAS while it is set up.
    appeared = [row["name"] for row in kernels if row["a"] < 0.02 * row["b"]]
    gone = [row["name"] for row in kernels if row["b"] < 0.02 * row["a"]]
    assert any("sgemm" in name and "libopenblas" in name for name in appeared), appeared
    assert any("generated code" in name or "dnnl" in name or "jit" in name for name in gone), gone
