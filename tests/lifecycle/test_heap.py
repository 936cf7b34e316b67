"""A profiling window leaves the program's heap as it was: what glibc gave back before, it gives back after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle.observed import needs_torch

pytestmark = [pytest.mark.serial, needs_torch]

# What the main arena, glibc's name for the program's heap, has in use: its size without what is free.
PROGRAM = """
import ctypes, gc, json, os, random, re, sys, tempfile, torch
torch.set_num_threads(1)
libc = ctypes.PyDLL(None)
libc.fopen.restype, libc.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
libc.malloc_info.argtypes, libc.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
path = tempfile.mktemp()

def in_use():
    gc.collect()
    file = libc.fopen(path.encode(), b"w")
    libc.malloc_info(0, file)
    libc.fclose(file)
    main = open(path).read().split('<heap nr="0">')[1].split("</heap>")[0]
    free = sum(int(n) for n in re.findall(r'<total type="(?:fast|rest)" count="\\d+" size="(\\d+)"', main))
    return int(re.search(r'<system type="current" size="(\\d+)"', main)[1]) - free

model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(8)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
used, states = [], []
for step in range(24):
    model(torch.ones(4, 16)).sum().backward(); optimizer.step(); optimizer.zero_grad()
    used.append(in_use())
    states.append([hash(random.getstate()), torch.random.get_rng_state().sum().item(), gc.get_threshold(),
                   gc.isenabled(), sorted(os.sched_getaffinity(0)), torch.get_num_threads()])
os.unlink(path)
json.dump([used, states], sys.stdout)
"""
MOST_LEFT_BYTES = 24576  # free blocks in caches of threads count as used; the profiler alone keeps 90 kB


def _run(folder: Path, window: str) -> tuple[list[int], list[Any]]:
    (folder / "program.py").write_text(PROGRAM)
    words = [sys.executable, "-m", "sonde", "run", "--quiet", "--force", "-o", str(folder / "r.sonde")]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run(
        [*words, "--window", window, str(folder / "program.py")],
        capture_output=True, text=True, env=kept, check=True, timeout=300,
    )  # fmt: skip
    used, states = json.loads(done.stdout)
    return used, states


def test_a_window_leaves_nothing_in_the_programs_heap(tmp_path: Path) -> None:
    used, states = _run(tmp_path, "steps=10:13")
    assert used[18] - used[8] < MOST_LEFT_BYTES, used
    assert all(state == states[8] for state in states[8:]), "state of the program changed in a window"
