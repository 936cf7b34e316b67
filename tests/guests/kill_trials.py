"""One `kill -9` at a random moment of a run, of finalising or of `sonde recover`, and what was left of the recording.

Enters: a folder for the trial, a random number generator. Leaves: a `Trial`. The program (programs/clocked.c) keeps
the CPU time of every thread in a file that survives it, so what was lost is known exactly, on a busy machine too:
a thread's CPU time less the weights of its samples.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde.errors import SondeError
from sonde.record.outside.finalise import recover
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from tests.guests.roster import PROGRAMS

ROOT = Path(__file__).parents[2]
PROMISED_S = 0.5
RUN_S = 5.0  # moments of a run: the first passes of the background thread are frequent, later ones rare
START_S, START_SHARE = (
    1.0,
    0.1,
)  # a tenth of the moments is in the second in which Sonde and the program start
CHILDREN = 3
CLOCK = np.dtype([("pid", "u8"), ("tid", "u8"), ("start_ns", "u8"), ("cpu_ns", "u8"), ("wall_ns", "u8")])


@dataclass(frozen=True)
class Trial:
    """What one kill left."""

    phase: str  # run, finalise or recover
    killed: str  # program, everything or sonde
    moment_s: float  # after the phase began (a run: after Sonde or its program did)
    began: bool  # False: killed before there was anything to keep
    problem: str = ""  # why the recording does not open, or what is wrong with it
    lost_cpu_s: float = 0.0  # of the thread that lost most
    silent_s: float = 0.0  # from the last sample to the kill, of the thread that computes all the time
    ended_before: bool = False  # the phase was over before the kill

    @property
    def kept_the_promise(self) -> bool:
        return not self.problem and self.lost_cpu_s <= PROMISED_S


def build(folder: Path) -> Path:
    """The program, compiled."""
    binary = folder / "clocked"
    flags = ["-O1", "-g", "-pthread", "-Wall", "-Wextra", "-D_GNU_SOURCE"]
    subprocess.run(["gcc", *flags, "-o", binary, PROGRAMS / "clocked.c"], check=True)
    return binary


def sonde(*words: str | Path) -> subprocess.Popen[bytes]:
    """The command line in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sonde", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def clocks_of(path: Path) -> np.ndarray:
    """The threads that ran, with their clocks; empty before the program's first turn."""
    text = path.read_bytes() if path.exists() else b""
    found = np.frombuffer(text[: len(text) // CLOCK.itemsize * CLOCK.itemsize], CLOCK)
    return found[found["cpu_ns"] > 0]


def kill_in_run(binary: Path, folder: Path, source: random.Random) -> Trial:
    """Kill the program, or everything, while it runs; at half of the moments a second thread sleeps and works."""
    recording, clock_file = folder / "run.sonde", folder / source.choice(("clock1", "clock2"))
    killed = source.choice(("program", "everything"))
    at_the_start = source.random() < START_SHARE
    moment_s = source.uniform(0, START_S if at_the_start else RUN_S)
    process = sonde("run", "--quiet", "-o", recording, "--", binary, clock_file)
    while not at_the_start and process.poll() is None and not len(clocks_of(clock_file)):
        time.sleep(0.005)
    time.sleep(moment_s)
    clocks = clocks_of(clock_file)
    if killed == "program" and len(clocks):
        os.kill(int(clocks["pid"][0]), signal.SIGKILL)
    else:
        killed = "everything"
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    clocks = clocks_of(clock_file)
    if not len(clocks):
        problem = _left_unusable(recording)
        return Trial("run", killed, moment_s, False, problem)
    return _judge("run", killed, moment_s, recording, clocks, opens_at_once=killed == "program")


def kill_in_finalising(binary: Path, folder: Path, source: random.Random, span_s: float) -> Trial:
    """Kill Sonde after its program has ended; `span_s`: how long finalising takes undisturbed."""
    recording, clock_file = folder / "run.sonde", folder / "clock1"
    process = sonde("run", "--quiet", "-o", recording, "--", binary, clock_file, "0.1", str(CHILDREN))
    _await_end(clock_file, process)
    moment_s = source.uniform(0, span_s)
    time.sleep(moment_s)
    ended = process.poll() is not None
    if not ended:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    clocks = clocks_of(clock_file)
    return _judge("finalise", "sonde", moment_s, recording, clocks, ended_before=ended)


def kill_in_recover(prepared: Path, folder: Path, source: random.Random, span_s: float) -> Trial:
    """Kill `sonde recover` on a copy of `prepared`, a recording whose program and Sonde were killed."""
    recording = folder / "run.sonde"
    shutil.copytree(prepared / "run.sonde", recording)
    process = sonde("recover", recording)
    moment_s = source.uniform(0, span_s)
    time.sleep(moment_s)
    ended = process.poll() is not None
    if not ended:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    clocks = clocks_of(prepared / "clock1")
    return _judge("recover", "sonde", moment_s, recording, clocks, ended_before=ended)


def prepare_unfinished(binary: Path, folder: Path) -> Path:
    """A recording of several processes, all killed after a second."""
    process = sonde(
        "run", "--quiet", "-o", folder / "run.sonde", "--", binary, folder / "clock1", "9", str(CHILDREN)
    )
    while not len(clocks_of(folder / "clock1")):
        time.sleep(0.01)
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return folder


def undisturbed_s(binary: Path, folder: Path) -> tuple[float, float]:
    """How long finalising and `sonde recover` take here and now."""
    words = (
        "run",
        "--quiet",
        "--keep-raw",
        "-o",
        folder / "run.sonde",
        "--",
        binary,
        folder / "clock1",
        "0.1",
    )
    process = sonde(*words, str(CHILDREN))
    _await_end(folder / "clock1", process)
    start = time.monotonic()
    process.wait()
    finalise_s = time.monotonic() - start
    start = time.monotonic()
    sonde("recover", folder / "run.sonde").wait()
    return finalise_s, time.monotonic() - start


def _await_end(clock_file: Path, process: subprocess.Popen[bytes]) -> None:
    """Until all of the program's processes are gone, as Sonde sees it."""
    while process.poll() is None:
        clocks = clocks_of(clock_file)
        if len(clocks) == 1 + CHILDREN and not Path(f"/proc/{clocks['pid'][0]}/exe").exists():
            return
        time.sleep(0.002)


def _left_unusable(recording: Path) -> str:
    """Nothing ran: whatever is there must say so in one line."""
    if not (recording / "raw").exists():
        return ""
    try:
        recover(recording)
    except SondeError:
        return ""
    except Exception as error:  # a traceback is the finding
        return f"recover: {type(error).__name__}: {error}"
    return ""


def _judge(
    phase: str, killed: str, moment_s: float, recording: Path, clocks: np.ndarray,
    opens_at_once: bool = False, ended_before: bool = False,
) -> Trial:  # fmt: skip
    """Open what was left, or recover it; recovering what opened must not lose anything either."""
    problem, lost_s, silent_s = "", 0.0, 0.0
    try:
        try:
            left = open_recording(recording)
            lost_s, silent_s = lost(left, clocks)
        except SondeError as error:
            if opens_at_once:
                problem = f"not finished though Sonde was not killed: {error}"
        if (recording / "raw").is_dir():
            lost_s, silent_s = lost(recover(recording), clocks)
    except Exception as error:  # a traceback is the finding
        problem = f"{type(error).__name__}: {error}"
    return Trial(phase, killed, moment_s, True, problem, lost_s, silent_s, ended_before)


def lost(recording: Recording, clocks: np.ndarray) -> tuple[float, float]:
    """CPU time without samples of the thread that lost most; time from the first thread's last sample to its end."""
    threads, samples = recording.table("threads"), recording.table("samples")
    running = samples.text("state").equals("waiting") ^ True
    worst, silent = 0.0, 0.0
    for row, clock in enumerate(clocks):
        numbers = threads.array("thread")[threads.array("tid") == clock["tid"]]
        own = np.isin(samples.array("thread"), numbers) & running
        worst = max(worst, (float(clock["cpu_ns"]) - float(samples.array("weight_ns")[own].sum())) / 1e9)
        if row == 0:
            last = samples.array("time_ns")[own].max(initial=int(clock["start_ns"]))
            silent = (float(clock["wall_ns"]) - float(last)) / 1e9
    return worst, silent
