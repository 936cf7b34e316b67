"""The build's check of what signal handlers need of a stack: it reads the library, and it can fail."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.native import agent_path

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "native/agent/signals/alternate_stack.h"
ARCH = ROOT / "native/agent/arch" / platform.machine()

pytestmark = pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")


def check(header: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "native/stack_usage.py", agent_path(), header, ARCH]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_handlers_stay_within_their_stack() -> None:
    done = check(HEADER)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"need (\d+) bytes of stack, (\d+) are allowed", done.stdout)
    assert found is not None
    # The walk alone has two objects of half a kilobyte and a decoder of more than one.
    assert 3000 < int(found[1]) <= int(found[2]) == 8192


def test_too_much_fails_the_build(tmp_path: Path) -> None:
    small = tmp_path / "limit.h"
    small.write_text("constexpr uint64_t kHandlerStackBytes = 2 << 10;\n")
    done = check(small)
    assert (done.returncode, done.stderr) == (
        1,
        "stack_usage: too much: move locals to the thread's scratch memory\n",
    )
