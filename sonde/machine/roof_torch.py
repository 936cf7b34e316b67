"""Peak rates of matrix products by the user's torch, measured in a child process."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sonde.machine.other_python import Request, printed_by, torch_answer

_MARK = "sonde-torch-peaks "
BUDGET_S = 7.0
_TIMEOUT_S = 90

# Sizes grow until one product takes too long to be repeated; types and thread counts take turns.
_PROGRAM = r"""
import json, sys, time
budget_s, counts = float(sys.argv[1]), [int(n) for n in sys.argv[2].split(",")]
try:
    import torch
except ImportError as error:
    print("\nsonde-torch-peaks " + json.dumps({"error": str(error)}))
    sys.exit(0)
LONGEST_S = 0.05
started = time.perf_counter()
deadline = started + budget_s
probes = []
with torch.inference_mode():
    for name, kind in (("f32", torch.float32), ("bf16", torch.bfloat16), ("f64", torch.float64)):
        for threads in counts:
            torch.set_num_threads(threads)
            for n in (256, 512, 1024, 2048):
                a, b = torch.randn(n, n).to(kind), torch.randn(n, n).to(kind)
                out = torch.empty(n, n, dtype=kind)
                torch.mm(a, b, out=out)
                begin = time.perf_counter()
                torch.mm(a, b, out=out)
                took = time.perf_counter() - begin
                probes.append((name, threads, n, a, b, out, []))
                if took * 8 > LONGEST_S or time.perf_counter() - started > budget_s / 3:
                    break
    while time.perf_counter() < deadline:
        for name, threads, n, a, b, out, times in probes:
            torch.set_num_threads(threads)
            for _ in range(3):
                begin = time.perf_counter()
                torch.mm(a, b, out=out)
                times.append(time.perf_counter() - begin)
            if time.perf_counter() > deadline:
                break
best = {}
for name, threads, n, a, b, out, times in probes:
    if not times:
        continue
    times.sort()
    work = 2.0 * n ** 3
    row = {"name": name, "threads": threads, "size": n, "samples": len(times),
           "best": work / times[len(times) // 10], "median": work / times[len(times) // 2]}
    if row["best"] > best.get((name, threads), {"best": 0})["best"]:
        best[name, threads] = row
seconds = time.perf_counter() - started
answer = {"version": torch.__version__, "seconds": seconds, "peaks": list(best.values())}
print("\nsonde-torch-peaks " + json.dumps(answer))
"""


@dataclass(frozen=True)
class Peak:
    """FLOP rate of the best size: at best (p10 of time) and usually (median)."""

    name: str  # f32, bf16, f64
    threads: int
    size: int
    samples: int
    best: float
    median: float


@dataclass(frozen=True)
class TorchPeaks:
    version: str
    seconds: float
    peaks: list[Peak]


def ask(threads: list[int], python: str | None = None, budget_s: float = BUDGET_S) -> TorchPeaks:
    """Measure with the torch of `python`; EnvironmentLacks when it has none."""
    # Threads that spin on a shared machine would measure each other.
    environment = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ}
    counts = ",".join(map(str, threads))
    request = Request(_PROGRAM, _MARK, "peaks", _TIMEOUT_S)
    answer = torch_answer(request, printed_by(request, python, environment, (str(budget_s), counts)), python)
    return TorchPeaks(answer["version"], answer["seconds"], [Peak(**p) for p in answer["peaks"]])
