"""Load and all analyses, beside HolisticTraceAnalysis 0.5.0, on 8 ranks of 77 MB.

    python -m benchmarks.hta --data ../shared/data/traces --hta-python VENV/bin/python [--rounds 1]

The input is megatron_tp8, each rank 20 times over (1.6 million rows in all). Both tools run in processes of
their own, interleaved: Sonde, HTA, Sonde, …; CPU seconds are those of the process and its workers, so a busy
machine changes little. HTA needs pandas < 2.3 (with 3 its critical path raises).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.environment import write
from benchmarks.replicate import lengthen

TIMES = 20

HERE = Path(__file__).parent


def run(python: str, script: Path, files: list[Path]) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(script), *map(str, files)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{script.name} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--hta-python", required=True)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = []
        for rank in range(8):
            files.append(folder / f"rank_{rank}.json")
            lengthen(
                options.data / f"multirank/megatron_tp8/megatron_kineto_{rank}.json.gz", files[-1], TIMES
            )
        sonde, hta = [run(sys.executable, HERE / "run_sonde.py", files)], []
        for _ in range(options.rounds):
            hta.append(run(options.hta_python, HERE / "run_hta.py", files))
            sonde.append(run(sys.executable, HERE / "run_sonde.py", files))
        size = sum(f.stat().st_size for f in files) / 1e6
    ratio = statistics.median(h["cpu_s"] for h in hta) / statistics.median(s["cpu_s"] for s in sonde)
    result = {
        "input_mb": round(size),
        "cpu_ratio": round(ratio, 1),
        "sonde": sonde,
        "hta": hta,
    }
    print(json.dumps({k: result[k] for k in ("input_mb", "cpu_ratio")}), write("hta", result))


if __name__ == "__main__":
    main()
