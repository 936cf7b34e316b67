"""`sonde run --shapes` on a native torch program with known calls, against torch.profiler on the same work.

The library calls.cpp runs in a native program under Sonde, and in Python under torch.profiler: names, shapes
and types of every call, and how often each is made, must be the same. The program's output
and exit code are its own in every case.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.store.reader import open_recording
from sonde.store.recording import Recording

ROOT = Path(__file__).resolve().parents[3]
TORCH = importlib.util.find_spec("torch")
COMPILER = shutil.which("c++")
HEADERS = TORCH is not None and (Path(str(TORCH.origin)).parent / "include/ATen/record_function.h").exists()
pytestmark = [
    pytest.mark.skipif(TORCH is None or not HEADERS, reason="needs torch with its C++ headers"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler (c++)"),
]
ROUNDS = 6
ORACLE = """
import ctypes, sys, torch
from torch.profiler import profile

work = ctypes.CDLL(sys.argv[1]).work
work()
with profile(record_shapes=True) as profiler:
    work()
profiler.export_chrome_trace(sys.argv[2])
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, and beside it the cache in which the observer is built once."""
    folder = tmp_path_factory.mktemp("observer")
    torch = Path(str(TORCH.origin)).parent  # type: ignore[union-attr]
    here = Path(__file__).parent
    library = [str(COMPILER), "-std=c++20", "-O0", "-w", "-DNDEBUG", "-fPIC", "-shared", f"-I{torch}/include",
               str(here / "calls.cpp"), "-o", str(folder / "libwork.so"),
               f"-L{torch}/lib", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{torch}/lib"]  # fmt: skip
    main = [str(COMPILER), "-std=c++20", str(here / "main.cpp"), "-o", str(folder / "main"),
            f"-L{folder}", "-lwork", f"-Wl,-rpath,{folder}:{torch}/lib", f"-Wl,-rpath-link,{torch}/lib", "-pthread",
            ]  # fmt: skip
    for command in (library, main):
        built = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert built.returncode == 0, built.stderr[-2000:]
    return folder / "main"


def record(
    program: Path, folder: Path, *words: str, options: tuple[str, ...] = ("--window", "all"), **variables: str
) -> tuple[subprocess.CompletedProcess[str], Recording]:
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
        "SONDE_CACHE": str(program.parent / "cache"), **variables,
    }  # fmt: skip
    command = [sys.executable, "-m", "sonde", "run", "--quiet", "--shapes", *options, "-o", "rec.sonde", "--"]
    done = subprocess.run(
        [*command, str(program), *words],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done, open_recording(folder / "rec.sonde")


def calls_of(recording: Recording) -> Counter[tuple[Any, ...]]:
    ops = recording.table("ops")
    columns = [ops.text(name).tolist() for name in ("name", "shapes", "dtypes")]
    return Counter(
        (name, _list(shapes), _list(dtypes)) for name, shapes, dtypes in zip(*columns, strict=True)
    )


def _list(text: str | None) -> str:
    return json.dumps(json.loads(text or "[]"))


def oracle(program: Path, folder: Path) -> Counter[tuple[Any, ...]]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-c", ORACLE, str(program.with_name("libwork.so")), str(folder / "oracle.json")],
        env=environment, check=True, capture_output=True, timeout=240,
    )  # fmt: skip
    events = json.loads((folder / "oracle.json").read_text())["traceEvents"]
    return Counter(
        (e["name"], json.dumps(e["args"].get("Input Dims", [])), json.dumps(e["args"].get("Input type", [])))
        for e in events
        if e.get("cat") == "cpu_op"
    )


def causes(recording: Recording) -> dict[str | None, str | None]:
    losses = recording.table("losses")
    return dict(zip(losses.text("cause").tolist(), losses.text("detail").tolist(), strict=True))


def test_every_call_is_there_with_the_shapes_that_the_profiler_gives(program: Path, tmp_path: Path) -> None:
    plain = subprocess.run([program, str(ROUNDS), "thread"], capture_output=True, text=True, timeout=120)
    done, recording = record(program, tmp_path, str(ROUNDS), "thread")
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert done.returncode == 3
    once = oracle(program, tmp_path)
    assert sum(once.values()) > 50
    assert calls_of(recording) == Counter({call: count * ROUNDS for call, count in once.items()})
    assert not [cause for cause in causes(recording) if (cause and "shapes" in cause) or cause == "bad_call"]
    ops = recording.table("ops")
    names, flops = ops.text("name"), ops.array("flops")
    assert flops[names.equals("aten::addmm")].tolist() == [2.0 * 16 * 32 * 24] * ROUNDS
    # Half of the rounds ran on the second thread, and calls nest on their own.
    linear = np.flatnonzero(names.equals("aten::linear"))
    assert sorted(Counter(ops.array("thread")[linear].tolist()).values()) == [ROUNDS // 2, ROUNDS // 2]
    inside = np.flatnonzero(names.equals("aten::addmm"))
    assert set(ops.array("parent")[inside].tolist()) == set(ops.array("op")[linear].tolist())
    # Backward nodes know the forward call that made them.
    by_op = dict(zip(ops.array("op").tolist(), names.tolist(), strict=True))
    nodes = np.flatnonzero(names.equals("AddmmBackward0"))
    assert {by_op[op] for op in ops.array("forward_op")[nodes].tolist()} == {"aten::addmm"}
    span = recording.table("processes")
    assert (ops.array("start_ns") >= span.array("start_ns").min() - 50_000_000).all()
    assert (ops.array("end_ns") <= span.array("end_ns").max() + 50_000_000).all()


def test_a_program_that_is_killed_keeps_its_calls(program: Path, tmp_path: Path) -> None:
    done, recording = record(program, tmp_path, "4", "kill")
    assert done.returncode == -9
    assert done.stdout.startswith("4 rounds")
    assert recording.table("ops").text("name").equals("aten::linear").sum() == 4
    marks = recording.table("marks")
    assert marks.text("kind").equals("window").sum() == 1


def test_a_forked_child_has_its_own_calls(program: Path, tmp_path: Path) -> None:
    done, recording = record(program, tmp_path, "3", "fork")
    assert done.returncode == 3
    ops, threads = recording.table("ops"), recording.table("threads")
    linear = ops.array("thread")[ops.text("name").equals("aten::linear")]
    process = dict(zip(threads.array("thread").tolist(), threads.array("process").tolist(), strict=True))
    assert sorted(Counter(process[thread] for thread in linear.tolist()).values()) == [3, 3]


def test_samples_find_their_calls_and_the_cost_stays_within_the_budget(program: Path, tmp_path: Path) -> None:
    rounds = 2_000_000  # of about a microsecond: watching all of them would double the time
    done, recording = record(program, tmp_path, str(rounds), "small", options=("--budget", "5"))
    assert done.returncode == 3
    ops, marks = recording.table("ops"), recording.table("marks")
    windows = marks.take(marks.text("kind").equals("window"))
    assert 1000 < len(ops) < rounds / 2
    assert len(windows) > 1
    cost_ns = sum(json.loads(text or "{}")["cost_ns"] for text in windows.text("extra").tolist())
    usage = recording.meta.details["rusage"]
    assert 0 < cost_ns < 0.055 * (usage["user_ns"] + usage["system_ns"])
    # All calls lie in windows, but for those that were under way when one closed.
    start, end = windows.array("start_ns"), windows.array("end_ns")
    at = np.searchsorted(start, ops.array("start_ns"), "right") - 1
    assert (at >= 0).all()
    assert (ops.array("start_ns") <= end[at]).mean() > 0.999
    samples = recording.table("samples")
    assert (samples.array("op") >= 0).sum() > 0


def test_without_a_compiler_the_program_runs_without_shapes_and_it_is_said(
    program: Path, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    done, recording = record(
        program, tmp_path, "1", PATH=str(tmp_path / "bin"), SONDE_CACHE=str(tmp_path / "cache")
    )
    assert (done.returncode, done.stdout) == (3, "1 rounds, sum 25586.0\n")
    assert "no C++ compiler" in str(causes(recording)["shapes_unavailable"])
    assert len(recording.table("ops")) == 0


def test_headers_that_do_not_fit_are_found_out_before_they_enter(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another torch's headers: here a build that gives a trial call a wrong shape."""
    from sonde.record.frameworks.torch_native import build

    for name in build.SOURCES:
        text = (build.FOLDER / name).read_text()
        (tmp_path / name).write_text(text.replace("empty_cpu({2, 3}", "empty_cpu({3, 2}"))
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(build.NotBuilt, match="do not fit"):
        build.observer_for([str(program)])
    assert not list((tmp_path / "cache").rglob("*.so"))


@pytest.mark.parametrize(
    ("command", "why"),
    [(["true"], "not linked to libtorch_cpu.so"), ([sys.executable, "-c", "pass"], "shapes from windows")],
)
def test_a_program_without_a_torch_of_its_own_is_told_so(
    command: list[str], why: str, tmp_path: Path
) -> None:
    done, recording = record(Path(command[0]), tmp_path, *command[1:], SONDE_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0
    assert why in str(causes(recording)["shapes_unavailable"])
