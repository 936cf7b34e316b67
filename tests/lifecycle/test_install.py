"""A wheel as a user meets it: an empty environment, nothing of the clone, and no compiler.

Here the wheel is the one that this machine's compiler builds, or the file that SONDE_WHEEL names. In clean roots of
several Debians, with the wheel that a release uploads: `make wheel-test`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUSY = ROOT / "tests" / "install" / "busy.py"
# What shells and Python's own start-up need; no compiler, no cmake, no make.
TOOLS = ("sh", "bash", "env", "uname", "ls", "cat", "ldd", "dirname", "basename", "readlink")


def run(*words: str | Path, path: str | None = None, **options: object) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    if path is not None:
        clean["PATH"] = path
    return subprocess.run(
        [str(w) for w in words], text=True, capture_output=True, env=clean, timeout=280, **options
    )  # type: ignore[call-overload, no-any-return]


def skip_without_packages(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode and ("No matching distribution" in done.stderr or "ConnectionError" in done.stderr):
        pytest.skip(f"packages cannot be fetched here: {done.stderr.strip().splitlines()[-1]}")


def programs(folder: Path, *names: str) -> str:
    """A PATH with these programs and no others."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return str(folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if named := os.environ.get("SONDE_WHEEL"):
        return Path(named)
    folder = tmp_path_factory.mktemp("wheel")
    done = run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    skip_without_packages(done)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("sonde_profiler-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of an environment's programs, and a PATH of them without a compiler."""
    folder = tmp_path_factory.mktemp("empty")
    assert run(sys.executable, "-m", "venv", folder / "venv").returncode == 0
    own = folder / "venv" / "bin"
    path = f"{own}:{programs(folder / 'tools', *TOOLS)}"
    assert not any(
        shutil.which(c, path=path) for c in ("cc", "gcc", "g++", "c++", "clang", "cmake", "torchrun")
    )
    done = run(own / "python", "-m", "pip", "install", "--quiet", wheel, path=path)
    skip_without_packages(done)
    assert done.returncode == 0, done.stderr
    return own, path


def test_wheel_is_for_any_python_and_holds_the_libraries(wheel: Path) -> None:
    assert "-py3-none-" in wheel.name
    assert "linux" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for library in ("agent", "lines", "observer", "tools"):
        assert f"sonde/_native/libsonde_{library}.so" in names
    assert "sonde/cli/main.py" in names
    assert not [n for n in names if n.startswith(("tests/", "native/", "web/", "benchmarks/", "scripts/"))]


def test_the_libraries_bring_no_runtime_of_the_building_machine(wheel: Path, tmp_path: Path) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    libraries = sorted((tmp_path / "sonde" / "_native").glob("*.so"))
    assert len(libraries) == 6
    for library in libraries:
        needed = [x for x in run("readelf", "-d", library).stdout.splitlines() if "(NEEDED)" in x]
        assert needed
        assert not [x for x in needed if "stdc++" in x or "libgcc" in x or "c++" in x], library


def test_without_a_clone_it_records_and_reports(installed: tuple[Path, str], tmp_path: Path) -> None:
    own, path = installed
    where = run(
        own / "python", "-c", "import sonde.native as n; print(n.agent_path()); n.tools()", cwd=tmp_path
    )
    assert str(own.parent) in where.stdout, where.stderr
    done = run(own / "sonde", "run", "-o", "busy.sonde", BUSY, path=path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "busy: done\n"), done.stderr
    assert "hot_loop" in run(own / "sonde", "show", "busy.sonde", "stacks", path=path, cwd=tmp_path).stdout
    assert run(own / "sonde", "insights", "busy.sonde", path=path, cwd=tmp_path).returncode == 0
    assert (
        run(own / "sonde", "report", "busy.sonde", "-o", "busy.html", path=path, cwd=tmp_path).returncode == 0
    )
    assert (tmp_path / "busy.html").stat().st_size > 100_000


def test_the_version_is_the_distributions(installed: tuple[Path, str], tmp_path: Path) -> None:
    own, path = installed
    said = run(own / "sonde", "--version", path=path, cwd=tmp_path).stdout
    asked = "from importlib.metadata import version; print('sonde', version('sonde-profiler'))"
    assert said == run(own / "python", "-c", asked, cwd=tmp_path).stdout
    assert said.startswith("sonde ")


def test_without_torch_the_demo_says_so_and_profiles_numpy(
    installed: tuple[Path, str], tmp_path: Path
) -> None:
    own, path = installed
    done = run(own / "sonde", "demo", path=path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "torch is not installed" in done.stdout
    assert "pip install torch" in done.stdout
    assert {p.name for p in tmp_path.iterdir()} == {"demo.sonde", "demo.html"}
    refused = run(own / "sonde", "demo", "--example", "torch", path=path, cwd=tmp_path)
    assert refused.returncode == 4
    assert len(refused.stderr.splitlines()) == 1


def test_the_sources_without_a_compiler_say_what_is_missing(tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    path = programs(tmp_path / "tools", "cmake", "make", "ninja", *TOOLS)
    clean = {"PATH": path, "HOME": str(tmp_path)}  # no CC, no CXX
    done = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path / "build"], text=True, capture_output=True, env=clean
    )
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "need a compiler with C++20. Install one (apt-get install g++), or take the built wheel" in said
