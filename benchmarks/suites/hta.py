"""Load and all analyses, beside HolisticTraceAnalysis 0.5.0, on 8 ranks of 77 MB.

    python -m benchmarks hta [--rounds 1] [--hta-python PYTHON]

The input is tests/data/traces/multirank/megatron_tp8, each rank 22 times over (1.8 million rows in all). Both tools run
in processes of their own, interleaved: Sonde, HTA, Sonde three times, …; CPU seconds are those of the process and its
workers, so a busy machine changes little. HTA needs pandas < 2.3 (with 3 its critical path raises).
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

from benchmarks.lib.environment import MEGATRON, ROOT, write
from benchmarks.lib.replicate import lengthen

TIMES = 22

LIB = Path(__file__).parents[1] / "lib"
HTA = ROOT / ".make" / "environments" / "hta" / "bin" / "python"


def run(python: str, script: Path, files: list[Path]) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(script), *map(str, files)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{script.name} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def inputs(folder: Path) -> list[Path]:
    """The eight long ranks in `folder`, made where they are missing. HTA wants absolute paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"rank_{rank}.json" for rank in range(8)]
    for rank, file in enumerate(files):
        if not file.exists():
            lengthen(MEGATRON[rank], file, TIMES)
    return files


def spread(hta: list[dict[str, Any]], sonde: list[dict[str, Any]], key: str) -> list[float]:
    """The worst and the best ratio that the runs allow."""
    ours, theirs = [s[key] for s in sonde], [h[key] for h in hta]
    return [round(min(theirs) / max(ours), 1), round(max(theirs) / min(ours), 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hta-python", default=str(HTA), help="default: that of `make bench`")
    parser.add_argument("--inputs", type=Path, help="a folder to keep the inputs in; made when it is empty")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    if not Path(options.hta_python).exists():
        raise SystemExit(f"no {options.hta_python}: make .make/environments/hta/ready")
    with tempfile.TemporaryDirectory() as name:
        files = inputs((options.inputs or Path(name)).resolve())
        sonde, hta = [run(sys.executable, LIB / "run_sonde.py", files)], []
        for _ in range(options.rounds):
            hta.append(run(options.hta_python, LIB / "run_hta.py", files))
            sonde += [run(sys.executable, LIB / "run_sonde.py", files) for _ in range(3)]
        size = sum(f.stat().st_size for f in files) / 1e6
    ratio = statistics.median(h["cpu_s"] for h in hta) / statistics.median(s["cpu_s"] for s in sonde)
    result = {
        "input_mb": round(size),
        "cpu_ratio": round(ratio, 1),
        "cpu_ratio_low_high": spread(hta, sonde, "cpu_s"),
        "wall_ratio_low_high": spread(hta, sonde, "wall_s"),
        "sonde": sonde,
        "hta": hta,
    }
    keys = ("input_mb", "cpu_ratio", "cpu_ratio_low_high", "wall_ratio_low_high")
    print(json.dumps({k: result[k] for k in keys}), write("hta", result))


if __name__ == "__main__":
    main()
