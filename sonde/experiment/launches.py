"""Measure an arm by launching it once: median steady step, or wall time where there are no steps.

The program runs with the step observer alone: no sampling, no deep windows, nothing
that could cost one arm more than the other. A launch is called disturbed only by rules
fixed here beforehand: the container was throttled, or the hypervisor stole time.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from sonde.analyze.steps import step_reports
from sonde.errors import UsageError
from sonde.experiment.arm import Arm, Measurement
from sonde.experiment.results import printed_results
from sonde.record.environment import ObserveOptions, python_environment
from sonde.record.framework import framework_tables

MAX_THROTTLED_SHARE = 0.05  # of the launch's wall time
MAX_STEAL_SHARE = 0.05  # of the machine's CPU time
FEWEST_STEADY_STEPS = 3


@dataclass(frozen=True)
class LaunchMeasure:
    """Callable by `Paired`. `timeout_s` ends a launch that hangs; its output is shown on failure."""

    timeout_s: float = 3600.0
    directory: Path | None = None

    def __call__(self, arm: Arm, padding: int) -> Measurement:
        with tempfile.TemporaryDirectory(prefix="sonde-launch-") as name:
            return self._launch(arm, padding, Path(name))

    def _launch(self, arm: Arm, padding: int, folder: Path) -> Measurement:
        (folder / "raw").mkdir()
        environment = {**os.environ, **arm.environment}
        environment |= python_environment(folder, ObserveOptions(window="none", lines=False), environment)
        # The size of the environment shifts the stack; varying it keeps one alignment from deciding.
        environment["SONDE_PADDING"] = "x" * padding
        before = disturbances()
        start = time.monotonic()
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            try:
                done = subprocess.run(
                    arm.words(), env=environment, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                    cwd=self.directory, timeout=self.timeout_s, check=False,
                )  # fmt: skip
            except FileNotFoundError:
                raise UsageError(f"{arm.words()[0]!r} was not found", "check the command after --") from None
            except subprocess.TimeoutExpired:
                raise UsageError(
                    f"{arm.name}: no end after {self.timeout_s:g} s", "let the program run fewer steps"
                ) from None
        wall_s = time.monotonic() - start
        if done.returncode != 0:
            tail = (folder / "stderr").read_text(errors="replace").strip().splitlines()[-1:]
            return Measurement(wall_s * 1e3, 0, done.returncode, "".join(tail))
        median_ms, steps = steady_step(folder)
        result = printed_results((folder / "stdout").read_text(errors="replace"))
        disturbed = judge_disturbance(before, disturbances(), wall_s)
        return Measurement(median_ms or wall_s * 1e3, steps, 0, result, disturbed)


def steady_step(folder: Path) -> tuple[float, int]:
    """(median steady step in ms, number of steady steps) of the process with most steps; zeros without."""
    reports = step_reports(framework_tables(folder / "raw").tables["marks"])
    if not reports:
        return 0.0, 0
    main = max(reports, key=lambda report: len(report.steps))
    steady = len(main.steps) - main.warmup
    return (main.median_ns / 1e6, steady) if steady >= FEWEST_STEADY_STEPS else (0.0, 0)


def disturbances() -> dict[str, float]:
    """Running totals of what the machine did to us, in seconds: throttled, steal, and all CPU time."""
    found = {"throttled": 0.0, "steal": 0.0, "all": 0.0}
    try:
        with open("/proc/stat", encoding="utf-8") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        hertz = os.sysconf("SC_CLK_TCK")
        found["steal"], found["all"] = ticks[7] / hertz, sum(ticks) / hertz
    except (OSError, ValueError, IndexError):
        pass
    try:
        with open("/sys/fs/cgroup/cpu.stat", encoding="utf-8") as file:
            for line in file:
                if line.startswith("throttled_usec"):
                    found["throttled"] = int(line.split()[1]) / 1e6
    except (OSError, ValueError, IndexError):
        pass
    return found


def judge_disturbance(before: dict[str, float], after: dict[str, float], wall_s: float) -> str:
    """The rule that was broken, or nothing."""
    throttled = (after["throttled"] - before["throttled"]) / max(wall_s, 1e-9)
    if throttled > MAX_THROTTLED_SHARE:
        return f"throttled {throttled:.0%} of the time"
    steal = (after["steal"] - before["steal"]) / max(after["all"] - before["all"], 1e-9)
    return f"steal {steal:.0%}" if steal > MAX_STEAL_SHARE else ""
