"""What `sonde run` with its defaults costs each example: CPU time relative to an unprofiled run.

Usage: python -m benchmarks defaults [--rounds N] [--examples vae gpt …] [--scale S] [--threads N]
Takes about 110 s per round on two idle cores.
A plain and a recorded run take turns of a twentieth of a second (`turns`), so that both meet the same machine; the
ratio is taken within the pair. CPU time is user plus system of the program and all its children, as the kernel accounts
it to the program's parent: what Sonde itself does before the program starts and after it has ended is not in it.
One thing turns change: Sonde's own thread works by the clock on the wall, which runs twice as fast as a program that
stands still half of the time, and takes the standing for waits, to which it looks five times as often, at the cost of a
team that it interrupts. So examples that only compute are recorded in turns without waits (their own looks cost next to
nothing), and each example is first recorded once alone, as it comes: the CPU time of Sonde's thread is
taken from there. The sum with what turns still add is printed, too.
OpenMP's workers spin while they wait, so with more than one thread CPU
time follows the clock on the wall and everything that disturbs it; --threads 1 compares work alone. Steps are
multiplied by --scale. Printed: the ratios of each round; then per example median and range of the ratio; then the sum
over all examples.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.lib.environment import write
from benchmarks.lib.turns import take_turns

ROOT = Path(__file__).resolve().parents[2]
# glibc raises its limits for memory of its own when the first large block is freed. Whether and when that happens
# decides how many page faults a program has, and anything beside it can move it: vae.py was 16 % faster
# with a profiler than without. Both sides get the limits that glibc itself would end at.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
WAITING = ("loader",)  # examples that wait by themselves
STEPS = {"vae": 250, "gpt": 60, "convnet": 20, "mlp": 300, "loader": 100, "matmul_add": 200}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--scale", type=float, default=1.0, help="times the examples' own number of steps")
    parser.add_argument("--threads", type=int, default=0, help="OMP_NUM_THREADS; 0 leaves it as it is")
    parser.add_argument("--examples", nargs="+", default=list(STEPS))
    parser.add_argument("--options", default="", help="further options of sonde run")
    options = parser.parse_args()
    os.environ |= MALLOC
    if options.threads:
        os.environ["OMP_NUM_THREADS"] = str(options.threads)
    # As an installed Sonde has it; compiling it anew in every process would cost each program 30 ms.
    compileall.compile_dir(ROOT / "sonde", quiet=2)
    order = random.Random(1)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in options.examples}
    count = {name: max(round(STEPS[name] * options.scale), 1) for name in options.examples}
    own_s = {name: alone(name, steps, options.options.split()) for name, steps in count.items()}
    for number in range(options.rounds):
        for name, steps in count.items():
            in_turns = [*options.options.split(), *([] if name in WAITING else ["--no-waits"])]
            one = pair(name, steps, in_turns, first=order.randrange(2))
            turns_s = one["own_s"] - own_s[name]
            one |= {"recorded_s": one["recorded_s"] - turns_s, "turns_s": turns_s, "own_alone_s": own_s[name]}
            found[name].append({**one, "ratio": one["recorded_s"] / one["plain_s"]})
        plain, recorded = (sum(found[n][-1][key] for n in found) for key in ("plain_s", "recorded_s"))
        ratios = " ".join(f"{name} {values[-1]['ratio']:.3f}" for name, values in found.items())
        print(f"round {number}: {ratios}; in sum {recorded / plain:.4f} of {plain:.1f} s", flush=True)
    rows = []
    for name, values in found.items():
        ratios = sorted(v["ratio"] for v in values)
        row = {"example": name, "ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}
        row |= {key: statistics.median(v[key] for v in values) for key in values[0] if key != "ratio"}
        rows.append(row)
        print(
            f"{name:12} {row['ratio']:.3f}  [{row['low']:.3f}, {row['high']:.3f}]  {row['plain_s']:.2f} s of CPU, "
            f"{row['windows']:.0f} windows that say they cost {row['windows_s'] * 1e3:.0f} ms",
            flush=True,
        )
    sums = sorted(
        sum(found[name][i]["recorded_s"] for name in found) / sum(found[name][i]["plain_s"] for name in found)
        for i in range(options.rounds)
    )
    raw = [
        sum(found[name][i]["recorded_s"] + found[name][i]["turns_s"] for name in found)
        / sum(found[name][i]["plain_s"] for name in found)
        for i in range(options.rounds)
    ]
    print(f"{'in sum':12} {statistics.median(sums):.3f}  [{sums[0]:.3f}, {sums[-1]:.3f}]")
    print(f"{'in turns':12} {statistics.median(raw):.3f}  [{min(raw):.3f}, {max(raw):.3f}]")
    print(
        write(
            "defaults",
            {
                "rounds": options.rounds,
                "scale": options.scale,
                "threads": options.threads,
                "rows": rows,
                "sums": sums,
                "sums_in_turns": raw,
            },
        )
    )


def alone(name: str, steps: int, options: list[str]) -> float:
    """CPU seconds of Sonde's own thread when the example is recorded without taking turns."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.sonde"
        script = [str(ROOT / "examples" / f"{name}.py"), "--steps", str(steps)]
        subprocess.run(
            [sys.executable, "-m", "sonde", "run", "-o", str(target), *options, *script],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True,
        )  # fmt: skip
        return _figures(target)["own_s"]


def pair(name: str, steps: int, options: list[str], first: int) -> dict[str, float]:
    """The example alone and recorded, in turns; CPU seconds by wait4, for the recorded one by Sonde's own wait4."""
    script = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--steps", str(steps)]
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.sonde"
        recorded = [sys.executable, "-m", "sonde", "run", "-o", str(target), *options, *script[1:]]
        environments = (plain, {**plain, "PYTHONPATH": str(ROOT)})
        ended = take_turns((script, recorded), environments, Path(folder), first, launched=("", script[1]))
        for one in ended:
            if one.exit_code:
                raise SystemExit(f"{name} failed: {one.errors[-500:]}")
        return {"plain_s": ended[0].cpu_s, **_figures(target)}


def _figures(target: Path) -> dict[str, float]:
    from sonde.store.reader import open_recording

    recording = open_recording(target)
    marks = recording.table("marks")
    usage = recording.meta.details["rusage"]  # wait4 of the program: children that it waited for included
    cpu_s = (usage["user_ns"] + usage["system_ns"]) / 1e9
    windows = marks.take(marks.text("kind").equals("window"))
    costs = [json.loads(text or "{}").get("cost_ns", 0) for text in windows.text("extra").tolist()]
    threads = recording.table("threads")
    own_s = float(threads.array("cpu_ns")[threads.text("kind").equals("sonde")].sum()) / 1e9
    return {
        "recorded_s": float(cpu_s),
        "own_s": own_s,
        "windows": float(len(windows)),
        "windows_s": sum(costs) / 1e9,
    }


if __name__ == "__main__":
    main()
