"""A child of another libc starts as it would without the agent, and is named as one that was not followed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.record.outside.launch import read_unfollowed
from tests.lifecycle.recorded import run

pytestmark = pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="needs musl-gcc (musl-tools)")

HELLO = """
#include <stdio.h>
#include <stdlib.h>
int main(void) { const char* p = getenv("LD_PRELOAD"); printf("musl %s\\n", p ? p : "none"); return 3; }
"""
CHILDREN = """
import os, subprocess, sys
path, script = sys.argv[1:]
os.environ["PATH"] = os.path.dirname(path) + ":" + os.environ["PATH"]
name = os.path.basename(path)
def forked(run):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        run()
        os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
def spawned(pid): return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
codes = [
    subprocess.run([path]).returncode,
    subprocess.run([script]).returncode,
    forked(lambda: os.execv(path, [path])),
    forked(lambda: os.execvpe(name, [name], os.environ)),
    forked(lambda: os.execve(os.open(path, os.O_RDONLY), [path], os.environ)),
    spawned(os.posix_spawn(path, [path], os.environ)),
    spawned(os.posix_spawnp(name, [name], os.environ)),
]
print(codes)
"""


def test_a_musl_child_runs_and_is_named(tmp_path: Path) -> None:
    source, program, script = tmp_path / "hello.c", tmp_path / "hello-musl", tmp_path / "script"
    source.write_text(HELLO)
    subprocess.run(["musl-gcc", "-o", program, source], check=True)
    script.write_text(f"#!{program} -x\n")
    script.chmod(0o755)
    assert b"ld-musl" in program.read_bytes()
    command = [sys.executable, "-u", "-c", CHILDREN, program, script]
    alone = subprocess.run(command, capture_output=True, text=True)
    assert alone.stdout == "musl none\n" * 7 + f"{[3] * 7}\n"
    result = run(command)
    assert (result.code, result.output, result.errors) == (0, alone.stdout, "")
    others = [child for child in read_unfollowed(result.folder) if "another libc" in child.reason]
    assert len({child.pid for child in others}) == 7
    assert result.pid not in {child.pid for child in others}


def test_what_the_program_preloads_itself_stays(tmp_path: Path) -> None:
    source, program = tmp_path / "hello.c", tmp_path / "hello-musl"
    source.write_text(HELLO)
    subprocess.run(["musl-gcc", "-o", program, source], check=True)
    own = "/nonexistent/own.so"  # musl passes over what is not there
    code = f"import os, sys\nos.environ['LD_PRELOAD'] += ':{own}'\nos.execv(sys.argv[1], sys.argv[1:])"
    result = run([sys.executable, "-c", code, program])
    assert (result.code, result.output) == (3, f"musl {own}\n")
    assert os.fspath(program) in {child.program for child in read_unfollowed(result.folder)}
