"""Every example runs for two steps and prints the result line that the documentation shows.

The programs are seeded, so the loss after two steps is a known number; the
tolerance covers other instruction sets and library versions.

The C++ example costs 45 s of compiler time for one file, most of it libtorch's
headers: it is built only when SONDE_TEST_CPP=1. MXNET_PYTHON names the Python
that has MXNet, which needs an older numpy than the rest.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environments import file_of, python_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TORCH = importlib.util.find_spec("torch")
needs_torch = pytest.mark.skipif(TORCH is None, reason="torch is not installed in this environment")
needs_compiler = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("c++") is None, reason="no cmake or C++ compiler"
)


def last_line(*command: str | Path) -> str:
    """The last line the program prints; it must end well."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1]


@needs_torch
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "options", "pattern", "value"),
    [
        ("vae", [], r"vae: 2 steps, loss ([\d.]+)", 523.2),
        ("mlp", [], r"mlp: 2 steps, loss ([\d.]+)", 2.307),
        ("convnet", ["--size", "32", "--batch", "4"], r"convnet: 2 steps, loss ([\d.]+)", None),
        ("matmul_add", ["--size", "64"], r"matmul_add: 2 steps of 64, mean square ([\d.]+)", None),
        ("gpt", ["--tokens", "4"], r"gpt: 2 steps, loss ([\d.]+), wrote 0\+0=0;0\+.{4}", 2.500),
        ("loader", ["--workers", "2"], r"loader: 2 steps, 2 workers, loss ([\d.]+)", 2.330),
    ],
)
def test_a_torch_example_trains_to_its_known_number(
    name: str, options: list[str], pattern: str, value: float | None
) -> None:
    line = last_line(sys.executable, EXAMPLES / f"{name}.py", "--steps", "2", *options)
    found = re.fullmatch(pattern, line)
    assert found, line
    if value is not None:
        assert float(found[1]) == pytest.approx(value, rel=0.02)


@needs_torch
@needs_compiler
@pytest.mark.torch
@pytest.mark.slow
def test_matmul_add_gives_the_same_compiled() -> None:
    lines = [
        last_line(sys.executable, EXAMPLES / "matmul_add.py", "--steps", "2", "--size", "64", *options)
        for options in ([], ["--compile"])
    ]
    assert lines[0] == lines[1]


def test_the_mxnet_example_runs() -> None:
    line = last_line(python_of("mxnet", "mxnet"), EXAMPLES / "mxnet_mlp.py", "--steps", "2")
    assert re.fullmatch(r"mxnet_mlp: 2 steps, loss [\d.]+", line)


def test_the_cpp_example_built_against_the_pip_package_trains() -> None:
    line = last_line(file_of("cpp", "vae"), "--steps", "2")
    found = re.fullmatch(r"vae: 2 steps, loss ([\d.]+)", line)
    assert found, line
    assert float(found[1]) == pytest.approx(526.8, rel=0.02)
