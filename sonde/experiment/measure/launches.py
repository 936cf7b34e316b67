"""Measure an arm by launching it once, or two that take turns: median steady step, or wall time without steps.

The program runs with the step observer alone: no sampling, no profiling windows, nothing
that could cost one arm more than the other. A launch is called disturbed only by rules
fixed here beforehand: the container was throttled, or the hypervisor stole time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sonde import rawfolder
from sonde.analyze.steps.program import step_reports
from sonde.columns import Table
from sonde.errors import UsageError
from sonde.experiment.design.arm import Arm, Measurement, Pair
from sonde.experiment.design.room import holds_two
from sonde.experiment.measure.inside import applied, inside_environment
from sonde.experiment.measure.results import checked_result, printed_results
from sonde.experiment.measure.traits import draws_batches, threads_of
from sonde.experiment.measure.turn_blocks import Blocks, ratio_of
from sonde.experiment.measure.turns import Side, alternate, release, shared_byte
from sonde.record.frameworks.collect import framework_tables
from sonde.record.inside.options import ObserveOptions
from sonde.record.outside.environment import python_environment

MAX_THROTTLED_SHARE = 0.05  # of the launch's wall time
MAX_STEAL_SHARE = 0.05  # of the machine's CPU time
LEAST_STEAL_S = 0.05  # the kernel counts steal in ticks of 10 ms: of a short launch a single one is 5 %
FEWEST_STEADY_STEPS = 3
TURN_FILE = "turn"  # in a launch's folder: the byte that asks it to stand


@dataclass
class LaunchMeasure:
    """Callable by `Paired`. `timeout_s` ends a launch that hangs; its output is shown on failure."""

    timeout_s: float = 3600.0
    directory: Path | None = None
    check: str = ""  # shell command whose output is the result; the program's is in $SONDE_OUTPUT
    turns: bool = True  # pairs take turns; becomes False when they were seen not to be able to
    _room_seen: bool = False
    # Key of an arm that failed in turns: alone it will show whether it was the company.
    _failed_beside: str = ""

    def __call__(self, arm: Arm, padding: int) -> Measurement:
        with tempfile.TemporaryDirectory(prefix="sonde-launch-") as name:
            folders = [Path(name) / str(i) for i in range(arm.instances)]
            found = self._measured(arm, padding, folders)
        if arm.key == self._failed_beside:
            self.turns, self._failed_beside = found.exit_code != 0, ""
        return found

    def together(self, first: Arm, second: Arm, paddings: tuple[int, int]) -> Pair | None:
        """Both in turns, `first` with the first turn; None when these programs cannot."""
        if not self.turns or first.instances != 1 or second.instances != 1:
            return None
        with tempfile.TemporaryDirectory(prefix="sonde-turns-") as name:
            folders = Path(name) / "first", Path(name) / "second"
            before, start = disturbances(), time.monotonic()
            took, codes = self._in_turns((first, second), paddings, folders)
            wall_s = time.monotonic() - start
            if any(codes):  # perhaps it wants a file or a port for itself: tried alone next
                self._failed_beside = (first if codes[0] else second).key
                return None
            blocks = [Blocks.of(folder) for folder in folders] if took else []
            values = ratio_of(*blocks) if blocks else None
            if values is None:
                self.turns = False
                return None
            disturbed = judge_disturbance(before, disturbances(), wall_s)
            made = [
                Measurement(
                    values[i], blocks[i].steady, 0, self._result(folders[i]), disturbed, blocks[i].loads,
                    wall_s / 2, applied(arm.inside, folders[i]), blocks[i].threads, in_turns=True,
                )
                for i, arm in enumerate((first, second))
            ]  # fmt: skip
            return made[0], made[1]

    def _in_turns(
        self, arms: tuple[Arm, Arm], paddings: tuple[int, int], folders: tuple[Path, Path]
    ) -> tuple[bool, tuple[int, int]]:
        """Run both to their ends: whether they took turns, and their exit codes."""
        with ExitStack() as stack:
            late = self._deadline(arms)

            def begin(i: int) -> Side:
                (process,) = stack.enter_context(
                    running(arms[i], paddings[i], [folders[i]], self.directory, turns=True)
                )
                return Side(process, shared_byte(folders[i] / TURN_FILE))

            sides = [begin(0)]
            stand = []
            if not self._room_seen:  # the very first alone, until its memory is known
                stand = [sides[0].stands(late)]
                self._room_seen = True
                if not stand[0] or not holds_two(sides[0].process):
                    release(sides[0])
                    _wait(sides[0].process, late)
                    return False, (0, 0)
            sides.append(begin(1))
            stand += [side.stands(late) for side in sides[len(stand) :]]
            if all(stand):
                alternate(sides[0], sides[1], late)
            else:
                for side in sides:
                    release(side)
            for side in sides:
                _wait(side.process, late)
            return all(stand), (sides[0].process.returncode, sides[1].process.returncode)

    def _deadline(self, arms: tuple[Arm, ...]) -> Callable[[], None]:
        end = time.monotonic() + self.timeout_s * len(arms)

        def late() -> None:
            if time.monotonic() > end:
                raise UsageError(
                    f"{arms[0].name}: did not end within {self.timeout_s:g} s",
                    "let the program run fewer steps",
                )

        return late

    def _measured(self, arm: Arm, padding: int, folders: list[Path]) -> Measurement:
        before, start = disturbances(), time.monotonic()
        late = self._deadline((arm,))
        with running(arm, padding, folders, self.directory) as processes:
            for process in processes:
                _wait(process, late)
        wall_s = time.monotonic() - start
        codes = [process.returncode for process in processes]
        for folder, code in zip(folders, codes, strict=True):
            if code:
                return _failed(folder, code, wall_s)
        marks = [framework_tables(folder / rawfolder.FOLDER).tables["marks"] for folder in folders]
        found = [steady_step(table) for table in marks]
        steps = min(count for _, count in found)
        value = float(np.median([ms for ms, _ in found])) if steps else wall_s * 1e3
        disturbed = judge_disturbance(before, disturbances(), wall_s)
        loads = any(draws_batches(table) for table in marks)
        return Measurement(
            value / arm.instances, steps, 0, self._result(folders[0]), disturbed, loads, wall_s,
            applied(arm.inside, folders[0]), threads_of(marks[0]),
        )  # fmt: skip

    def _result(self, folder: Path) -> str:
        if self.check:
            return checked_result(self.check, folder / "stdout", self.directory)
        return printed_results((folder / "stdout").read_text(errors="replace"))


def _wait(process: subprocess.Popen[bytes], late: Callable[[], None]) -> None:
    """Until it has ended; `late` raises when that takes too long."""
    while True:
        try:
            process.wait(1.0)
            return
        except subprocess.TimeoutExpired:
            late()


def _failed(folder: Path, code: int, wall_s: float) -> Measurement:
    """An exit code with the last line that the program said."""
    tail = (folder / "stderr").read_text(errors="replace").strip().splitlines()[-1:]
    return Measurement(wall_s * 1e3, 0, code, "".join(tail), seconds=wall_s)


@contextmanager
def running(
    arm: Arm, padding: int, folders: list[Path], directory: Path | None = None, turns: bool = False
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The arm's processes, one per folder. Whatever happens, none outlives the block.

    With `turns` each leads a group of its own, which can be stopped as a whole.
    """
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for number, folder in enumerate(folders):
            (folder / rawfolder.FOLDER).mkdir(parents=True)
            if turns:
                (folder / TURN_FILE).write_bytes(b"\1")  # stand as soon as you may
            environment = launch_environment(arm, folder, folder / TURN_FILE if turns else None)
            # The size of the environment shifts the stack; varying it keeps one alignment from deciding.
            environment["SONDE_PADDING"] = "x" * padding
            words = [word.replace("{instance}", str(number)) for word in arm.words()]
            with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
                try:
                    processes.append(
                        subprocess.Popen(
                            words, env=environment, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                            cwd=arm.directory or directory, start_new_session=turns,
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
                end(process, whole_group=turns)


def end(process: subprocess.Popen[bytes], whole_group: bool) -> None:
    """Ask it to end, then make it."""
    send = partial(os.killpg, process.pid) if whole_group else process.send_signal
    for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            send(number)
            send(signal.SIGCONT)  # one that stands would not hear
        try:
            process.wait(patience_s)
            return
        except subprocess.TimeoutExpired:
            continue


def launch_environment(arm: Arm, folder: Path, turns: Path | None = None) -> dict[str, str]:
    """The surroundings, the arm's own variables, the step observer, and the arm's changes from inside."""
    environment = {k: v for k, v in {**os.environ, **arm.environment}.items() if k not in arm.unset}
    environment |= inside_environment(arm.inside, folder, environment)
    options = ObserveOptions(window="none", lines=False, turns=turns)
    return environment | python_environment(folder, options, environment)


def steady_step(marks: Table) -> tuple[float, int]:
    """(median steady step in ms, steady steps) of the process with most steps."""
    reports = step_reports(marks, gaps=False)
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
    stolen_s = after["steal"] - before["steal"]
    steal = stolen_s / max(after["all"] - before["all"], 1e-9)
    return f"steal {steal:.0%}" if steal > MAX_STEAL_SHARE and stolen_s >= LEAST_STEAL_S else ""
