"""`sonde attach` into programs whose libraries have taken nearly all room for thread-local variables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.record.outside.attach.injector import ROOM

pytestmark = [pytest.mark.serial, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")]

# Loads what fits, largest first, until next to nothing is left.
PROGRAM = """
import ctypes, sys
from pathlib import Path
for path in sorted(Path(sys.argv[1]).glob("*.so"), reverse=True):
    try:
        ctypes.CDLL(str(path))
    except OSError:
        pass
print("ready", flush=True)
sys.stdin.read()
"""
SOURCE = """
__thread char taken[{}] __attribute__((tls_model("initial-exec"), aligned(16)));
char *at(void) {{ return taken; }}
"""


def attach(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", PROGRAM, str(folder)]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **variables}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        words = ["attach", str(process.pid), "-d", "0.2", "-o", str(folder / "now.sonde")]
        done = subprocess.run(
            [sys.executable, "-m", "sonde", *words], capture_output=True, text=True, timeout=120
        )
        process.communicate(b"")
        assert process.returncode == 0
    return done


def test_a_program_without_room_is_refused_and_the_remedy_helps(tmp_path: Path) -> None:
    for size in (1024, 512, 256, 128, 64, 32, 16):
        command = ["gcc", "-shared", "-fPIC", "-x", "c", "-o", str(tmp_path / f"{size:04}.so"), "-"]
        subprocess.run(command, input=SOURCE.format(size), text=True, check=True)
    refused = attach(tmp_path)
    assert refused.returncode == 4
    assert "have used up the room for thread-local variables" in refused.stderr
    assert f"GLIBC_TUNABLES={ROOM}" in refused.stderr
    done = attach(tmp_path, GLIBC_TUNABLES=ROOM)
    assert done.returncode == 0, done.stderr
