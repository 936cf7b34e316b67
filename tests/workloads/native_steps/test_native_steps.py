"""Steps, epochs, phases and regions of C++ programs, by count: the program says how many it made.

The library has torch's names and calling conventions without torch. What the program prints and its exit code are the
same with Sonde and without, also when exceptions pass through the agent's functions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import sonde
from sonde.analyze.samples.own_lines import own_lines
from sonde.insights.engine import judge
from sonde.store.reader import open_recording
from sonde.store.recording import Recording

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
Recorded = Callable[[str], Recording]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Records the program, built with line tables alone, with this argument."""
    return built(tmp_path_factory.mktemp("native"), "-g1")


@pytest.fixture(scope="module")
def recorded_stripped(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The same without any symbols."""
    return built(tmp_path_factory.mktemp("stripped"), "-s")


def built(folder: Path, flag: str) -> Recorded:
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", flag, f"-I{sonde.get_include()}"]
    library = folder / "libtorch_like.so"
    subprocess.run(["g++", *flags, "-fPIC", "-shared", HERE / "torch_like.cpp", "-o", library], check=True)
    subprocess.run(
        ["g++", *flags, HERE / "program.cpp", "-o", folder / "program", library, f"-Wl,-rpath,{folder}"],
        check=True,
    )

    def record(what: str) -> Recording:
        if (folder / f"{what}.sonde").exists():
            return open_recording(folder / f"{what}.sonde")
        plain = subprocess.run([folder / "program", what], capture_output=True, text=True)
        out = folder / f"{what}.sonde"
        seen = subprocess.run(
            [sys.executable, "-m", "sonde", "run", "--quiet", "-o", out, "--", folder / "program", what],
            capture_output=True, text=True, env={**os.environ, "SONDE_CACHE": str(folder / "cache")}, timeout=300,
        )  # fmt: skip
        assert (seen.stdout, seen.returncode) == (plain.stdout, plain.returncode), seen.stderr
        return open_recording(out)

    return record


def counted(recording: Recording) -> Counter[str]:
    marks = recording.table("marks")
    names = zip(marks.text("kind").tolist(), marks.text("name").tolist(), strict=True)
    return Counter(f"{kind} {name}" for kind, name in names)


def test_two_optimizers_per_batch_make_one_step_and_a_loader_makes_epochs(
    recorded: Recorded, recorded_stripped: Recorded
) -> None:
    recording = recorded("train")
    found = counted(recording)
    assert found["step train"] == 14
    assert (found["phase optimizer"], found["phase zero_grad"], found["phase forward"]) == (28, 14, 14)
    assert found["epoch dataloader"] == 2
    assert counted(recorded_stripped("train"))["step train"] == 14
    marks = recording.table("marks")
    [extra] = marks.take(marks.text("kind").equals("settings").nonzero()[0]).text("extra").tolist()
    assert '"threads": 3' in extra
    assert '"cpu_flags"' in extra


def test_an_optimizer_called_through_its_base_class_is_seen(recorded: Recorded) -> None:
    assert counted(recorded("virtual"))["step train"] == 9


def test_forward_passes_are_the_steps_of_a_program_that_does_not_train(recorded: Recorded) -> None:
    found = counted(recorded("infer"))
    assert found["step inference"] == 10
    assert found["phase forward"] == 10


def test_exceptions_pass_through_and_what_follows_is_counted(recorded: Recorded) -> None:
    found = counted(recorded("throws"))
    assert found["step train"] == 5
    assert found["phase optimizer"] == 5


def test_a_program_marks_steps_and_nested_regions_with_the_header(recorded: Recorded) -> None:
    found = counted(recorded("marked"))
    assert found["step user"] == 12
    assert (found['region outer "part"'], found["region inner"]) == (12, 24)


def test_lines_come_from_line_tables_alone_and_words_fit_the_language(recorded: Recorded) -> None:
    recording = recorded("infer")
    assert (HERE / "program.cpp").as_posix() in recording.table("sources").text("file").tolist()
    carried = [file for file in recording.table("sources").text("file").tolist() if file]
    samples = recording.table("samples")
    lines = own_lines(recording.table("frames"), recording.table("stacks"), samples, carried)
    assert any("torch_like.cpp:" in label for label, _ in lines.rows)
    report = judge(recorded("marked"))
    said = [*report.not_judged.values(), *(report.bound.evidence if report.bound else ())]
    assert not any("Python" in text or "sonde.step()" in text for text in said)
