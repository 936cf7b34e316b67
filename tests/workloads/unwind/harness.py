"""The unwinder alone, built from the agent's sources, callable through ctypes and gdb.

Enters: the sources under native/agent and native/tests. Leaves: a shared library in a scratch folder.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROCESSOR = ROOT / "native/agent/arch/x86_64"
FLAGS = ["-std=c++20", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"]


def build(folder: Path) -> Path:
    """Compiles the harness; takes a few seconds."""
    library = folder / "walk_harness.so"
    sources = [
        ROOT / "native/tests/walk_harness.cpp",
        ROOT / "native/agent/common/guarded_memory.cpp",
        ROOT / "native/agent/common/hot_memory.cpp",
        *sorted((ROOT / "native/agent/unwind").rglob("*.cpp")),
        *sorted(
            path for path in PROCESSOR.rglob("*.cpp") if path.parent.name != "ptrace"
        ),  # works from outside
    ]
    include = [f"-I{ROOT / 'native/agent'}", f"-I{PROCESSOR}"]
    command = ["g++", *FLAGS, "-shared", *include, "-o", str(library), *map(str, sources)]
    subprocess.run(command, check=True)
    return library


def load(library: Path) -> ctypes.CDLL:
    """The harness inside this process."""
    harness = ctypes.CDLL(str(library))
    numbers = ctypes.POINTER(ctypes.c_int64)
    harness.sonde_test_row.argtypes = [ctypes.c_uint64, numbers]
    harness.sonde_test_row.restype = None
    harness.sonde_test_rule.argtypes = [ctypes.c_uint64, numbers]
    harness.sonde_test_rule.restype = None
    harness.sonde_test_readable.argtypes = [ctypes.c_uint64]
    return harness


def load_bias(library: str) -> int:
    """Where a library of this process is mapped (its file offset 0)."""
    wanted = Path(library).resolve()
    for line in Path("/proc/self/maps").read_text().splitlines():
        fields = line.split()
        if len(fields) >= 6 and Path(fields[5]).resolve() == wanted and int(fields[2], 16) == 0:
            return int(fields[0].split("-")[0], 16)
    raise LookupError(f"{library} is not loaded")
