"""What is around the agent does not harm it: the program's environment, files that others put in its way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lifecycle.recorded import cpu_s, run, weights_s

Program = Callable[[str], Path]


def test_a_program_may_swap_its_environment(program: Program) -> None:
    result = run([program("swaps_environ"), "2"], rate_hz=200)
    assert (result.code, result.output, result.errors) == (0, "swapped\n", "")
    assert weights_s(result.main()) == pytest.approx(cpu_s(result.main()), rel=0.01)


PLANTED = """
import os, sys, time
kind, folder = sys.argv[1:]
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
burn(0.3)
if kind == "map":
    path = f"/tmp/perf-{os.getpid()}.map"
else:
    os.makedirs(folder + "/.debug/jit/x"); path = f"{folder}/.debug/jit/x/jit-{os.getpid()}.dump"
os.mkfifo(path)
try: burn(1.5)
finally: os.unlink(path)
print("done")
"""


@pytest.mark.parametrize("kind", ["map", "dump"])
def test_a_fifo_in_the_place_of_a_list_of_names_blocks_nothing(kind: str, tmp_path: Path) -> None:
    result = run([sys.executable, "-c", PLANTED, kind, tmp_path], environment={"JITDUMPDIR": str(tmp_path)})
    assert (result.code, result.output, result.errors) == (0, "done\n", "")
    assert result.main().footer is not None  # a blocked background thread would have left none
    assert weights_s(result.main()) == pytest.approx(cpu_s(result.main()), rel=0.01)


FOREIGN_MAP = """
import os, time
path = f"/tmp/perf-{os.getpid()}.map"
with open(path, "w") as file: file.write("1000 10 planted\\n")
if OWNER: os.chown(path, OWNER, OWNER)
end = time.process_time() + 0.8
while time.process_time() < end: pass
os.unlink(path)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
@pytest.mark.parametrize("owner", [0, 1])
def test_names_from_another_users_file_are_not_believed(owner: int) -> None:
    log = run([sys.executable, "-c", f"OWNER = {owner}\n{FOREIGN_MAP}"]).main()
    assert ("planted" in log.jit.name.tolist()) == (owner == 0)
