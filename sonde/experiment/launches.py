"""Measure an arm by launching it once: median steady step, or wall time where there are no steps.

The program runs with the step observer alone: no sampling, no deep windows, nothing
that could cost one arm more than the other. A launch is called disturbed only by rules
fixed here beforehand: the container was throttled, or the hypervisor stole time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde.analyze.steps import step_reports
from sonde.columns import Table
from sonde.errors import UsageError
from sonde.experiment.arm import Arm, Measurement
from sonde.experiment.inside import applied, inside_environment
from sonde.experiment.results import checked_result, printed_results
from sonde.record.environment import ObserveOptions, python_environment
from sonde.record.framework import framework_tables

MAX_THROTTLED_SHARE = 0.05  # of the launch's wall time
MAX_STEAL_SHARE = 0.05  # of the machine's CPU time
LEAST_STEAL_S = 0.05  # the kernel counts steal in ticks of 10 ms: of a short launch a single one is 5 %
FEWEST_STEADY_STEPS = 3


@dataclass(frozen=True)
class LaunchMeasure:
    """Callable by `Paired`. `timeout_s` ends a launch that hangs; its output is shown on failure."""

    timeout_s: float = 3600.0
    directory: Path | None = None
    check: str = ""  # shell command whose output is the result; the program's is in $SONDE_OUTPUT

    def __call__(self, arm: Arm, padding: int) -> Measurement:
        with tempfile.TemporaryDirectory(prefix="sonde-launch-") as name:
            folders = [Path(name) / str(i) for i in range(arm.instances)]
            return self._measured(arm, padding, folders)

    def _measured(self, arm: Arm, padding: int, folders: list[Path]) -> Measurement:
        before, start = disturbances(), time.monotonic()
        with running(arm, padding, folders, self.directory) as processes:
            for process in processes:
                try:
                    process.wait(max(0.1, self.timeout_s - (time.monotonic() - start)))
                except subprocess.TimeoutExpired:
                    raise UsageError(
                        f"{arm.name}: no end after {self.timeout_s:g} s", "let the program run fewer steps"
                    ) from None
        wall_s = time.monotonic() - start
        codes = [process.returncode for process in processes]
        if any(codes):
            failed = folders[next(i for i, code in enumerate(codes) if code)]
            tail = (failed / "stderr").read_text(errors="replace").strip().splitlines()[-1:]
            worst = next(code for code in codes if code)
            return Measurement(wall_s * 1e3, 0, worst, "".join(tail), seconds=wall_s)
        found = [steady_step(folder) for folder in folders]
        steps = min(count for _, count, _ in found)
        value = float(np.median([ms for ms, _, _ in found])) if steps else wall_s * 1e3
        disturbed = judge_disturbance(before, disturbances(), wall_s)
        loads = any(loader for _, _, loader in found)
        return Measurement(
            value / arm.instances, steps, 0, self._result(folders[0]), disturbed, loads, wall_s,
            applied(arm.inside, folders[0]),
        )  # fmt: skip

    def _result(self, folder: Path) -> str:
        if self.check:
            return checked_result(self.check, folder / "stdout", self.directory)
        return printed_results((folder / "stdout").read_text(errors="replace"))


@contextmanager
def running(
    arm: Arm, padding: int, folders: list[Path], directory: Path | None = None
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The arm's processes, one per folder. Whatever happens, none outlives the block."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for number, folder in enumerate(folders):
            (folder / "raw").mkdir(parents=True)
            environment = launch_environment(arm, folder)
            # The size of the environment shifts the stack; varying it keeps one alignment from deciding.
            environment["SONDE_PADDING"] = "x" * padding
            words = [word.replace("{instance}", str(number)) for word in arm.words()]
            with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
                try:
                    processes.append(
                        subprocess.Popen(
                            words, env=environment, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                            cwd=directory,
                        )
                    )  # fmt: skip
                except OSError as error:
                    why = (
                        "was not found"
                        if isinstance(error, FileNotFoundError)
                        else f"cannot run: {error.strerror}"
                    )
                    raise UsageError(f"{words[0]!r} {why}", "check the command after --") from None
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def launch_environment(arm: Arm, folder: Path) -> dict[str, str]:
    """The surroundings, the arm's own variables, the step observer, and the arm's changes from inside."""
    environment = {k: v for k, v in {**os.environ, **arm.environment}.items() if k not in arm.unset}
    environment |= inside_environment(arm.inside, folder, environment)
    return environment | python_environment(folder, ObserveOptions(window="none", lines=False), environment)


def steady_step(folder: Path) -> tuple[float, int, bool]:
    """(median steady step in ms, steady steps, uses a DataLoader) of the process with most steps."""
    marks = framework_tables(folder / "raw").tables["marks"]
    reports = step_reports(marks)
    if not reports:
        return 0.0, 0, _loads(marks)
    main = max(reports, key=lambda report: len(report.steps))
    steady = len(main.steps) - main.warmup
    if steady < FEWEST_STEADY_STEPS:
        return 0.0, 0, _loads(marks)
    return main.median_ns / 1e6, steady, _loads(marks)


def _loads(marks: Table) -> bool:
    return bool((marks.text("kind").equals("phase") & marks.text("name").equals("dataloader")).any())


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
    stolen_s = after["steal"] - before["steal"]
    steal = stolen_s / max(after["all"] - before["all"], 1e-9)
    return f"steal {steal:.0%}" if steal > MAX_STEAL_SHARE and stolen_s >= LEAST_STEAL_S else ""
