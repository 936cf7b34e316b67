"""The agent's reader of Python frames, on every interpreter this machine has.

Each interpreter runs `python_frames/scenarios.py`, which compares the walk with
sys._getframe() frame by frame: names, files, lines, instructions, entries, anchors.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.environments import interpreter

HERE = Path(__file__).parent / "python_frames"
REPOSITORY = Path(__file__).parents[2]
MINORS = range(10, 15)


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing: the harness cannot be built")
    agent = REPOSITORY / "native/agent"
    library = tmp_path_factory.mktemp("harness") / "libharness.so"
    processor = agent / "arch/x86_64"
    sources = [HERE / "harness.cpp", agent / "common/guarded_memory.cpp", agent / "common/hot_memory.cpp"]
    sources += [processor / "context.cpp", processor / "jumps.cpp"]
    names = (
        "code_table",
        "eval_cold",
        "eval_ranges",
        "frames",
        "interpreter",
        "layout_debug_offsets",
        "layout_tables",
    )
    sources += [agent / "python" / f"{name}.cpp" for name in names]
    flags = [
        "-std=c++20",
        "-O2",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        "-static-libstdc++",
        "-static-libgcc",
    ]
    subprocess.run(
        [compiler, *flags, f"-I{agent}", f"-I{processor}", *map(str, sources), "-o", str(library), "-ldl"],
        check=True,
    )
    return library


@pytest.mark.parametrize("minor", MINORS)
def test_walks_equal_the_interpreters_own_frames(minor: int, harness: Path) -> None:
    result = subprocess.run(
        [interpreter(minor), str(HERE / "scenarios.py"), str(harness), str(REPOSITORY / "sonde/symbols")],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("ok ") == 13, result.stdout
