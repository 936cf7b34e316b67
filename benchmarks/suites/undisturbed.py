"""Is a program the same with Sonde as without: CPU time, page faults, context switches, memory, heap?

Usage: python -m benchmarks undisturbed [--rounds N] [--programs recommender mlp …] [--steps-scale S]
Takes about three minutes per round on two idle cores.
Twelve programs as they are, glibc's limits untouched, each plain and under `sonde run` with its defaults, in random
order within a round. Each is accounted for by the system at its own end (`workloads/accounted.py`). Printed per
program: the ratio of the medians of every figure, the scatter of the plain runs, and what Sonde says itself that it
cost. A figure is all right when it is within 2 %, or explained: by Sonde's own account (CPU time), or because the
plain runs differ among each other by more than that.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.lib.environment import write

ROOT = Path(__file__).resolve().parents[2]
ACCOUNTED = ROOT / "benchmarks" / "workloads" / "accounted.py"
WITHIN = 0.02
PROGRAMS = {
    "recommender": ("benchmarks/workloads/recommender.py", "{}", 100),
    "inference": ("benchmarks/workloads/inference.py", "{}", 1500),
    "vae": ("examples/vae.py", "--steps {}", 120),
    "gpt": ("examples/gpt.py", "--steps {}", 30),
    "convnet": ("examples/convnet.py", "--steps {}", 10),
    "mlp": ("examples/mlp.py", "--steps {}", 300),
    "matmul_add": ("examples/matmul_add.py", "--steps {}", 200),
    "embedding": ("examples/pitfalls/embedding.py", "--steps {}", 150),
    "page_faults": ("examples/pitfalls/page_faults.py", "--steps {}", 60),
    "small_ops": ("examples/pitfalls/small_ops.py", "--steps {}", 150),
    "per_tensor_optimizer": ("examples/pitfalls/per_tensor_optimizer.py", "--steps {}", 100),
    "python_overhead": ("examples/pitfalls/python_overhead.py", "--steps {}", 100),
}
FIGURES = ("cpu_s", "faults", "switches", "rss_kb", "heap_used")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps-scale", type=float, default=1.0)
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    options = parser.parse_args()
    order = random.Random(1)
    found: dict[str, dict[str, list[dict[str, float]]]] = {
        name: {"plain": [], "recorded": []} for name in options.programs
    }
    for number in range(options.rounds):
        for name in options.programs:
            for side in order.sample(("plain", "recorded"), 2):
                found[name][side].append(run(name, side, options.steps_scale))
        print(f"round {number + 1} of {options.rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
    rows = [judged(name, sides["plain"], sides["recorded"]) for name, sides in found.items()]
    for row in rows:
        figures = "  ".join(
            f"{key} {row[key]['ratio']:.3f} ±{row[key]['scatter']:.3f}{'' if row[key]['why'] else ' !'}"
            for key in FIGURES
        )
        print(f"{row['program']:22} {figures}  by its own account {row['own_share']:.3f}")
    open_ones = [f"{r['program']} {k}" for r in rows for k in FIGURES if not r[k]["why"]]
    print(f"neither within {WITHIN:.0%} nor explained: {', '.join(open_ones) or 'none'}")
    print(write("undisturbed", {"rounds": options.rounds, "rows": rows}))


def run(name: str, side: str, scale: float) -> dict[str, float]:
    """One run's account; of a recorded one, with the share that Sonde says it cost."""
    script, words, steps = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        result, recording = Path(folder) / "result.json", Path(folder) / "r.sonde"
        program = [str(ACCOUNTED), str(result), str(ROOT / script)]
        program += words.format(max(round(steps * scale), 5)).split()
        sonde = ["-m", "sonde", "run", "--quiet", "-o", str(recording)] if side == "recorded" else []
        done = subprocess.run(
            [sys.executable, *sonde, *program], cwd=folder, text=True, capture_output=True, timeout=900,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{name} failed: {done.stderr[-500:]}")
        figures: dict[str, float] = json.loads(result.read_text(encoding="utf-8"))
        if sonde:
            figures["own_share"] = own_share(recording)
        return figures


def own_share(recording: Path) -> float:
    shown = subprocess.run(
        [sys.executable, "-m", "sonde", "show", str(recording), "quality", "--json"], text=True,
        capture_output=True, check=True, cwd=ROOT,
    )  # fmt: skip
    found = json.loads(shown.stdout)
    return float((found.get("overhead") or {}).get("high") or 0.0)


def judged(name: str, plain: list[dict[str, float]], recorded: list[dict[str, float]]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "program": name,
        "own_share": statistics.median(one["own_share"] for one in recorded),
    }
    for key in FIGURES:
        a, b = (statistics.median(one[key] for one in side) for side in (plain, recorded))
        values = sorted(one[key] for one in plain)
        scatter = (values[-1] - values[0]) / 2 / max(a, 1e-9)
        ratio = b / max(a, 1e-9)
        why = ""
        if abs(ratio - 1) <= WITHIN:
            why = "within"
        elif abs(ratio - 1) <= scatter:
            why = "plain runs differ as much"
        elif key == "cpu_s" and 0 < ratio - 1 <= row["own_share"] + max(scatter, WITHIN):
            why = "its own account"
        elif key == "switches":
            why = "its own thread's looks"
        row[key] = {"plain": a, "recorded": b, "ratio": ratio, "scatter": scatter, "why": why}
    return row


if __name__ == "__main__":
    main()
