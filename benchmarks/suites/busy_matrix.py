"""Does a busy machine change what Sonde says? Six programs, quiet and under three disturbances.

Usage: python -m benchmarks busy_matrix [--programs mlp …] [--conditions quota …] [--steps-scale S]
Takes about ten minutes on two idle cores, an hour on busy ones.
Each program is recorded on one CPU: quiet, beside two busy neighbours on that CPU, with a quota of half a CPU (a
control group, which needs root; without one a stand-in stops and continues the program every 50 ms), and at nice 19
beside one neighbour. Asked: is the verdict that of the quiet run; are the shares of its five largest operators, by
samples in steady steps, within the interval of two such shares; and does the first line name the disturbance.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.environment import write
from sonde.analyze.ops.sampled import sampled_ops
from sonde.insights.subject import Subject
from sonde.store.reader import open_recording

ROOT = Path(__file__).resolve().parents[2]
CPU = max(os.sched_getaffinity(0))
PROGRAMS = {
    "mlp": ("examples/mlp.py", "--steps {}", 400),
    "vae": ("examples/vae.py", "--steps {}", 80),
    "gpt": ("examples/gpt.py", "--steps {}", 25),
    "convnet": ("examples/convnet.py", "--steps {}", 10),
    "recommender": ("benchmarks/workloads/recommender.py", "{}", 100),
    "embedding": ("examples/pitfalls/embedding.py", "--steps {}", 300),
}
CONDITIONS = ("quiet", "neighbours", "quota", "nice")
NEIGHBOUR = "while True: pass"
QUOTA = Path(f"/sys/fs/cgroup/cpu/sonde-busy-matrix-{os.getpid()}")
PERIOD_S = 0.1
TOP = 5
Z = 3.3  # 99.9 %: twenty shares are looked at per program
SLACK = 0.02  # caches that a neighbour empties are no error of the profile


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--conditions", nargs="+", default=list(CONDITIONS[1:]), choices=CONDITIONS[1:])
    parser.add_argument("--steps-scale", type=float, default=1.0)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            seen = {
                condition: record(name, condition, Path(folder), options.steps_scale)
                for condition in ("quiet", *options.conditions)
            }
            for condition in options.conditions:
                row = compared(name, condition, seen["quiet"], seen[condition])
                rows.append(row)
                print(
                    f"{name:12} {condition:10} {'ok' if row['ok'] else 'NOT'}  {row['verdict']} (quiet "
                    f"{row['quiet_verdict']}), taken {row['taken']:.0%}, largest difference of a share "
                    f"{row['largest']:.3f} within {row['within']:.3f}; {row['first']}",
                    flush=True,
                )
    good = sum(row["ok"] for row in rows)
    print(f"{good} of {len(rows)} as quiet")
    print(
        write(
            "busy_matrix", {"rows": rows, "quota": "control group" if QUOTA.parent.exists() else "stand-in"}
        )
    )


def record(name: str, condition: str, folder: Path, scale: float) -> dict[str, Any]:
    """What one recording says."""
    script, words, steps = PROGRAMS[name]
    target = folder / f"{name}-{condition}.sonde"
    command = [sys.executable, "-m", "sonde", "run", "-o", str(target), str(ROOT / script)]
    command += words.format(max(round(steps * scale), 10)).split()
    with neighbours({"neighbours": 2, "nice": 1}.get(condition, 0)):
        said = launched(command, condition)
    shown = subprocess.run(
        [sys.executable, "-m", "sonde", "insights", str(target), "--json"], text=True, capture_output=True,
        check=True, cwd=ROOT,
    )  # fmt: skip
    judged = json.loads(shown.stdout)
    shares, count = operator_shares(target)
    first = said[said.index("sonde: ") :].splitlines()[1]
    taken = (judged["taken_away"] or {}).get("share", 0.0)
    return {
        "verdict": judged["verdict"]["bound"],
        "taken": taken,
        "first": first,
        "shares": shares,
        "samples": count,
    }


def launched(command: list[str], condition: str) -> str:
    def before() -> None:
        os.sched_setaffinity(0, {CPU})
        if condition == "nice":
            os.nice(19)
        if condition == "quota" and QUOTA.parent.exists():
            (QUOTA / "cgroup.procs").write_text(str(os.getpid()))

    by_group = condition == "quota" and QUOTA.parent.exists()
    if by_group:
        QUOTA.mkdir(exist_ok=True)
        (QUOTA / "cpu.cfs_quota_us").write_text(str(round(PERIOD_S * 1e6 / 2)))
    process = subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=before,
        start_new_session=True, env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    ended = threading.Event()
    if condition == "quota" and not by_group:
        threading.Thread(target=_pauses, args=(process.pid, ended), daemon=True).start()
    try:
        said, _ = process.communicate(timeout=1800)
    finally:
        ended.set()
        if by_group:
            QUOTA.rmdir()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {said[-500:]}")
    return said


def _pauses(group: int, ended: threading.Event) -> None:
    while not ended.wait(PERIOD_S / 2):
        for number in (signal.SIGSTOP, signal.SIGCONT):
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                return
            if number == signal.SIGSTOP:
                ended.wait(PERIOD_S / 2)


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    others = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", NEIGHBOUR], preexec_fn=lambda: os.sched_setaffinity(0, {CPU})
        )
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def operator_shares(target: Path) -> tuple[dict[str, float], int]:
    """CPU time of each operator as a share of all that steady steps have, and how many samples tell it."""
    recording = open_recording(target)
    samples = recording.table("samples")
    steady = Subject(recording).steady
    time_ns = samples.array("time_ns")
    step = np.searchsorted(steady.starts, time_ns, "right") - 1
    inside = (step >= 0) & (time_ns < steady.ends[np.maximum(step, 0)])
    inside &= ~samples.text("state").equals("waiting")
    mine = samples.take(inside)
    table, _ = sampled_ops(mine, recording.table("stacks"), recording.table("frames"))
    whole = int(mine.array("weight_ns").sum())
    names, own = table.text("name").tolist(), table.array("self_ns").tolist()
    return {str(n): ns / whole for n, ns in zip(names, own, strict=True)}, len(mine)


def compared(name: str, condition: str, quiet: dict[str, Any], busy: dict[str, Any]) -> dict[str, Any]:
    top = sorted(quiet["shares"], key=lambda n: -quiet["shares"][n])[:TOP]
    worst, within, alike = 0.0, 0.0, True
    for operator in top:
        p, q = quiet["shares"][operator], busy["shares"].get(operator, 0.0)
        middle = (p + q) / 2
        limit = (
            Z * float(np.sqrt(middle * (1 - middle) * (1 / quiet["samples"] + 1 / busy["samples"]))) + SLACK
        )
        alike &= abs(p - q) <= limit
        if abs(p - q) > worst:
            worst, within = abs(p - q), limit
    named = busy["first"].startswith(("The machine was busy", "The CPU quota"))
    return {
        "program": name,
        "condition": condition,
        "verdict": busy["verdict"],
        "quiet_verdict": quiet["verdict"],
        "taken": busy["taken"],
        "quiet_taken": quiet["taken"],
        "first": busy["first"],
        "operators": {n: (quiet["shares"][n], busy["shares"].get(n, 0.0)) for n in top},
        "largest": worst,
        "within": within,
        "ok": bool(busy["verdict"] == quiet["verdict"] and alike and named),
    }


if __name__ == "__main__":
    main()
