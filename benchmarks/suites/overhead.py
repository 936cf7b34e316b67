"""What profiling costs the program, in two ways.

Usage: python -m benchmarks overhead [--rounds N] [--seconds S] [--workloads …] [--inside S] [--only NAME …]
       python -m benchmarks overhead --beside CLONE [--rounds N] [--seconds S] [--rate HZ]

Inside one process (the finer way): Sonde's own on/off blocks at the default rate and at 1000 Hz, and
torch.profiler switched on and off in the same pattern, on the op-dense loop for --inside seconds each;
an estimate with its 95 % interval.
Across processes: CPU time per step under each profiler, relative to an unprofiled run. Every round launches
every profiler once, in random order, so that a drifting machine hurts all alike; the ratio is taken
within a round. Printed: median and range over rounds, bytes written, and seconds from the end of the
loop to the end of the command. A profiler that is not installed is named.

Beside another build of Sonde (a clone with its native libraries): in-process blocks of both in turns, and the
difference with its interval. Exits 1 when this build surely costs more or walks more slowly.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.lib.beside import beside, show
from benchmarks.lib.environment import write
from benchmarks.lib.peers import LOOP, Peer, present, surroundings
from sonde.analyze.recording.overhead import typical


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--inside", type=float, default=60.0, help="seconds of CPU per in-process figure; 0: none"
    )
    parser.add_argument("--seconds", type=float, default=6.0, help="CPU time of the loop")
    parser.add_argument("--workloads", nargs="+", default=["op_dense", "conv_net", "transformer", "loader"])
    parser.add_argument("--only", nargs="+", help="names of peers, beside nothing")
    parser.add_argument(
        "--beside", type=Path, metavar="CLONE", help="another build of Sonde, compared in turns"
    )
    parser.add_argument("--rate", type=int, default=100, metavar="HZ", help="of both builds")
    options = parser.parse_args()
    if options.beside:
        compared = beside(options.beside, options.rate, options.seconds, options.rounds)
        show(compared)
        print(write("overhead-beside", asdict(compared)))
        return 1 if compared.costs_more else 0
    inside = measure_inside(options.inside, options.only) if options.inside else []
    peers = present(options.only) if options.rounds else []
    rows = []
    for workload in options.workloads if peers else ():
        rows += measure(workload, peers, options.rounds, options.seconds)
    if inside:
        print(write("overhead-inside", {"seconds": options.inside, "rows": inside}))
    if rows:
        print(write("overhead", {"rounds": options.rounds, "seconds": options.seconds, "rows": rows}))
    return 0


def measure_inside(seconds: float, only: list[str] | None) -> list[dict[str, object]]:
    """On the op-dense loop, in one process each."""
    rows: list[dict[str, object]] = []
    for rate_hz in (100, 1000):
        name = f"sonde {rate_hz} Hz"
        if not only or name in only:
            rows.append({"profiler": name, **blocks_of_sonde(rate_hz, seconds)})
    for kind in ("default", "shapes", "stacks"):
        name = f"torch.profiler {kind}"
        if not only or name in only:
            rows.append({"profiler": name, **blocks_of_torch(kind, seconds)})
    for row in rows:
        print(
            f"in process   {row['profiler']:22} {row['share']:+.2%}  [{row['low']:+.2%}, {row['high']:+.2%}]"
            f"  {row['pairs']} pairs",
            flush=True,
        )
    return rows


def blocks_of_sonde(rate_hz: int, seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "blocks.sonde"
        options = ["--quiet", "--blocks", "--window", "none", "--rate", str(rate_hz), "-o", str(output)]
        sonde = [sys.executable, "-m", "sonde"]
        loop = [str(LOOP), "op_dense", str(seconds)]
        subprocess.run([*sonde, "run", *options, *loop], stdout=subprocess.DEVNULL, check=True)
        shown = [*sonde, "show", str(output), "quality", "--json"]
        quality = json.loads(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)
        found: dict[str, float] = quality["overhead"]
        if found["method"] != "blocks":
            raise SystemExit(f"too few blocks in {seconds} s: {found}")
        return found


def blocks_of_torch(kind: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, str(LOOP), "op_dense", str(seconds), kind, "pairs"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    differences = np.array(json.loads(done.stdout.splitlines()[-1]))
    share, low, high = (float(np.expm1(value)) for value in typical(differences))
    return {"share": share, "low": low, "high": high, "pairs": len(differences)}


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
            env=surroundings(),
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
    sys.exit(main())
