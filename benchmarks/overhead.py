"""What profiling costs the program: CPU time per step under each profiler, as a ratio to nothing.

Usage: python -m benchmarks.overhead [--rounds N] [--seconds S] [--workloads …]
Every round launches every profiler once, in random order, so that a drifting machine
hurts all alike; the ratio is taken within a round. Printed: median and range over rounds,
bytes written, and seconds from the end of the loop to the end of the command.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.environment import write
from benchmarks.peers import PEERS, Peer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=6.0, help="CPU time of the loop")
    parser.add_argument("--workloads", nargs="+", default=["op_dense", "conv_net", "transformer"])
    parser.add_argument("--only", nargs="+", help="names of peers, beside nothing")
    options = parser.parse_args()
    chosen = [p for p in PEERS if not options.only or p.name in ("nothing", *options.only)]
    rows = []
    for workload in options.workloads:
        rows += measure(workload, [p for p in chosen if not p.missing()], options.rounds, options.seconds)
    path = write("overhead", {"rounds": options.rounds, "seconds": options.seconds, "rows": rows})
    print(path)


def measure(workload: str, peers: list[Peer], rounds: int, seconds: float) -> list[dict[str, object]]:
    found: dict[str, list[dict[str, float]]] = {p.name: [] for p in peers}
    order = random.Random(1)
    for _ in range(rounds):
        one = {p.name: launch(p, workload, seconds) for p in order.sample(peers, len(peers))}
        base = one["nothing"]
        for name, figures in one.items():
            ratio = figures["cpu_ms_per_step"] / base["cpu_ms_per_step"] if figures and base else float("nan")
            found[name].append({**figures, "ratio": ratio})
    rows: list[dict[str, object]] = []
    for name, values in found.items():
        ratios = sorted(v["ratio"] for v in values)
        row: dict[str, object] = {"workload": workload, "profiler": name, "ratio": statistics.median(ratios)}
        row |= {"low": ratios[0], "high": ratios[-1], "steps": sum(v["steps"] for v in values)}
        row |= {k: statistics.median(v[k] for v in values) for k in ("after_s", "bytes", "cpu_ms_per_step")}
        rows.append(row)
        print(
            f"{workload:12} {name:22} {row['ratio']:.3f}  [{row['low']:.3f}, {row['high']:.3f}]"
            f"  after the loop {row['after_s']:.1f} s, {float(str(row['bytes'])) / 1e6:.2f} MB",
            flush=True,
        )
    return rows


def launch(peer: Peer, workload: str, seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.sonde"
        start = time.monotonic()
        done = subprocess.run(
            peer.command(workload, seconds, output),
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ,
        )
        total = time.monotonic() - start
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise SystemExit(f"{peer.name} gave no figures: {done.stderr[-500:]}")
        figures: dict[str, float] = json.loads(lines[-1])
        in_loop = figures["wall_ms_per_step"] * figures["steps"] / 1e3
        size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file())
        shutil.rmtree(output, ignore_errors=True)
        return {**figures, "after_s": total - in_loop, "bytes": size}


if __name__ == "__main__":
    main()
