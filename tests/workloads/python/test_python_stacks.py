"""Merged stacks of real programs: known shares of time, exact lines, operators and modules.

Tolerances come from the binomial error of the sample count (3.3 σ: 999 of 1000 runs).
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.recording.quality import quality
from sonde.columns import Table
from sonde.export.collapsed import collapsed_lines
from sonde.export.profile import profile_of
from sonde.ingest.agent import assemble
from sonde.ingest.agent.decode import read_raw_log
from sonde.ingest.agent.modules import module_names, raw_modules
from sonde.native import agent_path
from sonde.record.inside.options import ObserveOptions
from sonde.record.outside.environment import python_environment
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.symbols.resolver import Resolver

pytestmark = pytest.mark.serial

HERE = Path(__file__).parent
RATE_HZ = 400


class Profile:
    """Three commands over the collapsed on-CPU stacks of a program."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self.tables = tables
        samples = tables["samples"]
        on_cpu = ~samples.text("state").equals("waiting") & ~samples.text("walk").equals("residual")
        once = samples.take(on_cpu).with_columns(weight_ns=np.ones(int(on_cpu.sum()), np.int64))
        lines = collapsed_lines(profile_of(Recording(Meta(), {**tables, "samples": once})))
        self._counts = {text: int(n) for text, _, n in (line.rpartition(" ") for line in lines)}

    def samples(self, regex: str) -> int:
        return sum(n for line, n in self._counts.items() if re.search(regex, line))

    def total(self) -> int:
        return sum(self._counts.values())

    def lines(self, regex: str) -> list[str]:
        return [line for line in self._counts if re.search(regex, line)]


def profile(script: str, cpu_s: float, folder: Path, observe: bool = False) -> Profile:
    raw = folder / "raw"
    raw.mkdir()
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "2",
        "LD_PRELOAD": str(agent_path()),
        "SONDE_AGENT_FOLDER": str(folder),
        "SONDE_AGENT_RATE": str(RATE_HZ),
    }
    if observe:
        environment.update(python_environment(folder, ObserveOptions(window="none"), environment))
    command = [sys.executable, str(HERE / script), str(cpu_s)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-2000:]
    logs = [read_raw_log(path) for path in sorted(raw.glob("*.slog"))]
    modules = {
        log.header.pid: raw_modules(module_names(raw / f"{log.header.pid}.modules.jsonl")) for log in logs
    }
    return Profile(assemble(logs, Resolver(folder / "cache"), modules))


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return profile("split.py", 2.0, tmp_path_factory.mktemp("split"))


def test_a_known_split_is_inside_the_binomial_interval(split: Profile) -> None:
    thirty, seventy = split.samples(r"thirty .*spin"), split.samples(r"seventy .*spin")
    count = thirty + seventy
    assert count > 200
    assert abs(thirty / count - 0.3) < 3.3 * math.sqrt(0.3 * 0.7 / count)


def at(code: str) -> str:
    """`split.py:N` of the line that holds `code`, as a regex."""
    lines = (HERE / "split.py").read_text().splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if code in line)
    return rf"\(split\.py:{number}\)"


def test_frames_are_in_the_order_of_the_calls_and_have_their_lines(split: Profile) -> None:
    called = split.lines(r"__lt__ .*spin")
    assert called
    order = rf"main {at('sorted([')};.*sort.*;(?:Ordered\.)?__lt__ {at('spin(3_000)')};.*spin"
    assert [line for line in called if not re.search(order, line)] == []
    whole = rf"generator {at('yield')};.*seventy {at('spin(70_000)')};.*spin"
    assert split.samples(whole) == split.samples(r"seventy .*spin") > 0


def test_nothing_is_merged_by_guess_and_every_walk_is_whole(split: Profile) -> None:
    found = quality(split.tables)
    everything = found.attributed["all"]
    assert everything.root == 1.0
    assert (everything.python or 0) > 0.95  # the rest is start and end of the interpreter
    assert found.lost.get("merge_inexact", 0) <= 0.005 * found.samples
    assert found.anchor_missed == 0.0


@pytest.mark.torch
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_training_samples_have_operator_module_and_line(tmp_path: Path) -> None:
    seen = profile("training.py", 6.0, tmp_path, observe=True)
    inside = seen.samples(r"train \(training\.py")
    assert inside > 200
    # Code of operators: bindings, dispatch, kernels, backward nodes.
    code = r"(?:at::(?:_ops|native|redispatch)::|torch::autograd::(?:THPVariable_|generated::\w+::apply))"
    in_operators = seen.samples(r"train \(training\.py.*" + code)
    assert seen.samples(r"train \(training\.py.*\[op\] .*" + code) >= 0.99 * in_operators
    # All of torch. What belongs to no operator has a name of its own: tensor::free, autograd::grad_mode.
    anything = r"(?:at::|torch::autograd::(?:THP|generated))"
    in_torch = seen.samples(r"train \(training\.py.*" + anything)
    assert in_operators > 0.5 * in_torch
    assert seen.samples(r"train \(training\.py.*\[op\] .*" + anything) >= 0.99 * in_torch
    assert seen.samples(r"\[module\] blocks\.1;.*\[module\] blocks\.1\.linear;.*\[op\] aten::linear") > 0
    calls = seen.samples(r"train \(training\.py.*Net\.forward")
    assert seen.samples(r"train \(training\.py.*\[module\] .*Net\.forward") == calls
    assert seen.samples(r"\[op\] AddmmBackward0") > 0
