"""Chains of every awkward kind: the walk is what gdb says, at every instruction that is stopped at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
BLIND = ["leaf", "pushes", "saves", "evex", "aligned", "inner_aligned", "barrier"]
BREAKS = [
    *("leaf_work()", "huge_frame()", "with_alloca(int)", "realigned(int)", "tail_caller(int)", "sorts()"),
    *("signals()", "on_signal(int)", "never_returns(int)", "catches()", "cfi_framed", "cfi_escape"),
    *(f"nocfi_{name}" for name in BLIND),
]
VARIANTS = {
    "gcc-O0": ["g++", "-O0"],
    "gcc-O2": ["g++", "-O2", "-fomit-frame-pointer"],
    "gcc-O3-avx2": ["g++", "-O3", "-mavx2", "-fomit-frame-pointer", "-fcf-protection"],
    "clang-O2": ["clang++", "-O2", "-fomit-frame-pointer"],
}


def build(variant: str, folder: Path) -> list[str]:
    compiler, *flags = VARIANTS[variant]
    # Lazy binding: the first call of each function goes through the loader's resolver and a PLT stub.
    subprocess.run(
        [compiler, "-std=c++20", *flags, "-Wl,-z,lazy", "-rdynamic", "-o", folder / "torture",
         PROGRAMS / "torture.cpp", PROGRAMS / "assembly.S", "-ldl", "-pthread"],
        check=True,
    )  # fmt: skip
    plugins = []
    for name, size in (("a", 400), ("b", 4000)):
        plugins.append(str(folder / f"plugin_{name}.so"))
        subprocess.run(
            [
                compiler,
                *flags,
                f"-DSIZE={size}",
                "-shared",
                "-fPIC",
                "-o",
                plugins[-1],
                PROGRAMS / "plugin.cpp",
            ],
            check=True,
        )
    return [str(folder / "torture"), *plugins]


def stops(program: list[str], mode: str, harness: Path) -> dict[str, object]:
    environment = {**os.environ, "SONDE_BREAKS": " ".join(BREAKS)}
    command = [
        "gdb", "-batch", "-nx", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
        "-ex", f"set exec-wrapper env LD_PRELOAD={harness}",
        "-ex", f"source {PROGRAMS.parent / 'gdb_stops.py'}",
        "--args", program[0], mode, *program[1:],
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=290)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"stops"')]
    assert lines, done.stdout[-2000:] + done.stderr[-2000:]
    result: dict[str, object] = json.loads(lines[-1])
    return result


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb to compare with")
@pytest.mark.parametrize("mode", ["main", "thread"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_walks_are_what_gdb_says(variant: str, mode: str, walk_harness: Path, tmp_path: Path) -> None:
    if shutil.which(VARIANTS[variant][0]) is None:
        pytest.skip(f"no {VARIANTS[variant][0]} to compile with")
    result = stops(build(variant, tmp_path), mode, walk_harness)
    stopped_in = result["stopped_in"]
    assert isinstance(stopped_in, dict)
    # Each function without unwind information in its beginning, body and end.
    assert all(stopped_in.get(f"nocfi_{name}", 0) >= 8 for name in BLIND), stopped_in
    assert {"leaf_work()", "huge_frame()", "realigned(int)", "catches()", "cfi_escape"} <= set(stopped_in)
    assert result["wrong"] == 0, json.dumps(result["differences"], indent=1)
