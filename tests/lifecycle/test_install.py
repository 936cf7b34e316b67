"""`pip install .` as a user does it: an empty environment, the built wheel, nothing of the clone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [str(w) for w in words], text=True, capture_output=True, env=clean, timeout=280, **options
    )  # type: ignore[call-overload, no-any-return]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    if done.returncode and ("No matching distribution" in done.stderr or "ConnectionError" in done.stderr):
        pytest.skip("the build backend scikit-build-core cannot be fetched here")
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("sonde-*.whl")
    return found


def test_wheel_is_for_any_python_and_holds_both_libraries(wheel: Path) -> None:
    assert "-py3-none-linux" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("sonde/_native/libsonde_agent.so", "sonde/_native/libsonde_tools.so", "sonde/cli/main.py"):
        assert needed in names
    assert not [n for n in names if n.startswith(("tests/", "native/", "web/", "benchmarks/"))]


def test_installed_in_an_empty_environment_it_runs(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    assert run(sys.executable, "-m", "venv", "--system-site-packages", venv).returncode == 0
    python = venv / "bin" / "python"
    # The environment of the tests lends numpy, duckdb and rich; Sonde itself comes from the wheel.
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    ours = subprocess.run(
        [sys.executable, "-c", "import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))"],
        text=True, capture_output=True, check=True,
    ).stdout.strip()  # fmt: skip
    Path(site, "lent.pth").write_text(ours + "\n")
    done = run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    assert done.returncode == 0, done.stderr
    shown = run(venv / "bin" / "sonde", "--version", cwd=tmp_path)
    assert shown.stdout.startswith("sonde "), shown.stderr
    where = run(python, "-c", "import sonde.native as n; print(n.agent_path()); n.tools()", cwd=tmp_path)
    assert str(venv) in where.stdout, where.stderr
