"""`--primitives` of programs that are not torch in Python: a native program, and MXNet.

Their libraries read a variable once and print to standard output from then on; the lines are kept
apart inside the process, so what the program itself prints stays byte for byte what it was.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.store.reader import open_recording
from tests.environments import file_of, python_of

pytestmark = pytest.mark.serial

ROOT = Path(__file__).resolve().parents[2]
# Prints as the libraries do: oneDNN v2 with printf in two pieces, v3 with "%s", MKL with vfprintf.
PROGRAM = r"""
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void mkl(const char* f, ...) { va_list a; va_start(a, f); vfprintf(stdout, f, a); va_end(a); }
static void* work(void* name) {
  if (getenv("ONEDNN_VERBOSE"))
    printf("%s", "onednn_verbose,v1,primitive,exec,cpu,eltwise,jit:avx2,forward_training,"
                 "data_f32::blocked:ab::f0 diff_undef::undef:::,,alg:eltwise_relu alpha:0 beta:0,128x512,0.5\n");
  return name;
}
int main(void) {
  printf("first %d", 1);
  if (getenv("DNNL_VERBOSE")) {
    printf("dnnl_verbose,info,oneDNN v%d.%d.%d (commit %s)\n", 2, 4, 4, "5818c40");
    printf("dnnl_verbose,info,prim_template:");
    printf("operation,engine,primitive,exec_time\n");
    printf("dnnl_verbose,exec,%s,%g\n",
           "cpu,inner_product,x64:gemm:jit,forward_inference,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
           "bia_f32::blocked:a:f0 dst_f32::blocked:ab:f0,,,mb128ic784oc512", 0.25);
  }
  if (getenv("MKL_VERBOSE"))
    mkl("MKL_VERBOSE SGEMM(N,N,%d,64,64,0x7ffd7f2b0390,0x1,64,0x2,64,0x7ffd7f2b0398,0x3,64) 12.5us CNR:OFF "
        "Dyn:1 FastMM:1 TID:0  NThr:1\n", 64);
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  printf(" dnnl_verbose is a word\n");
  fflush(stdout);
  if (fork() == 0) { work(0); printf("child\n"); fflush(stdout); _exit(0); }
  wait(0);
  printf("last\n");
  return 3;
}
"""
OUTPUT = "first 1 dnnl_verbose is a word\nchild\nlast\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler (cc)")
    folder = tmp_path_factory.mktemp("native")
    (folder / "prints.c").write_text(PROGRAM)
    subprocess.run(
        [compiler, "-O1", "-o", folder / "prints", folder / "prints.c", "-pthread"], check=True, timeout=60
    )
    return folder / "prints"


def sonde_run(folder: Path, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}
    command = [
        sys.executable,
        "-m",
        "sonde",
        "run",
        "-o",
        "rec.sonde",
        "--quiet",
        "--primitives",
        *map(str, words),
    ]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=200)


def test_lines_of_a_native_program_are_taken_and_its_own_are_not(program: Path, tmp_path: Path) -> None:
    done = sonde_run(tmp_path, "--", program)
    assert (done.returncode, done.stdout) == (3, OUTPUT)
    recording = open_recording(tmp_path / "rec.sonde")
    table = recording.table("primitives")
    rows = sorted(zip(table.text("kind").tolist(), table.array("time_ms").tolist(), strict=True))
    assert rows == [("eltwise", 0.5), ("eltwise", 0.5), ("inner_product", 0.25), ("sgemm", 0.0125)]
    assert recording.meta.versions["onednn"] == "2.4.4"
    # The thread and the child are told apart, and every call lies inside its process's life.
    assert len(set(table.array("thread").tolist())) == 3
    assert len(set(table.array("process").tolist())) == 2
    processes = recording.table("processes")
    assert (table.array("start_ns") >= processes.array("start_ns").min() - 1_000_000).all()
    assert (table.array("start_ns") <= processes.array("end_ns").max()).all()
    assert "unparsed_line" not in recording.table("losses").text("cause").tolist()


def test_a_native_program_that_was_told_to_print_prints(program: Path, tmp_path: Path) -> None:
    done = sonde_run(tmp_path, "--", program, MKL_VERBOSE="1")
    assert "MKL_VERBOSE SGEMM(N,N,64,64,64" in done.stdout
    assert "onednn_verbose" not in done.stdout
    assert len(open_recording(tmp_path / "rec.sonde").table("primitives")) == 0


def test_a_shell_in_front_of_a_python_program_changes_nothing(tmp_path: Path) -> None:
    """The shell is a native program; the Python behind it must not find variables that the shell got."""
    asks = "import os; print(sorted(k for k in os.environ if k.endswith('_VERBOSE')))"
    done = sonde_run(tmp_path, "--", "sh", "-c", f'{sys.executable} -c "{asks}"; true')
    assert done.stdout == "[]\n"


def test_a_native_torch_program(tmp_path: Path) -> None:
    """examples/cpp/vae.cpp."""
    built = file_of("cpp", "vae")
    done = sonde_run(tmp_path, "--", built, "--steps", "60")
    assert done.returncode == 0, done.stderr
    assert "verbose" not in done.stdout
    table = open_recording(tmp_path / "rec.sonde").table("primitives")
    assert "sgemm" in table.text("kind").tolist()
    assert (table.array("start_ns") > 0).all()
    # No operator calls were recorded: samples inside the primitives, or inside their like, name the operators.
    shown = subprocess.run(
        [sys.executable, "-m", "sonde", "show", "rec.sonde", "primitives", "--by", "op", "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(shown.stdout)
    assert found["operator_known"]["unknown"] < 0.1
    named = {(r["operator"], r["kind"]) for r in found["rows"] if r["operator"]}
    assert {operator for operator, kind in named if kind == "sgemm"} <= {"aten::mm", "aten::addmm"}
    assert ("aten::mm", "sgemm") in named


def test_mxnet_calls_are_joined_to_its_operators(tmp_path: Path) -> None:
    python = python_of("mxnet", "mxnet")
    done = sonde_run(tmp_path, "--", python, ROOT / "examples" / "mxnet_mlp.py", "--steps", "10")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mxnet_mlp: 10 steps")
    assert len(done.stdout.splitlines()) == 1
    recording = open_recording(tmp_path / "rec.sonde")
    table, ops = recording.table("primitives"), recording.table("ops")
    products = table.text("kind").equals("inner_product")
    assert products.sum() == 10 * 8  # three layers: forward, weights; two gradients of inputs
    joined = table.array("op") >= 0
    time_ms = table.array("time_ms")
    assert time_ms[joined].sum() >= 0.99 * time_ms.sum()
    names = dict(zip(ops.array("op").tolist(), ops.text("name").tolist(), strict=True))
    seen = {names[op] for op in table.array("op")[products & joined].tolist()}
    # MXNet runs the backward pass in bulks, which its own trace shows as one.
    assert seen == {"FullyConnected", "ImperativeBulk"}
