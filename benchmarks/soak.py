"""Ten minutes of thread churn, fork, dlopen/dlclose and exceptions at 2000 Hz, with the agent inside.

Usage: python -m benchmarks.soak [SECONDS] [RATE_HZ]    (default 600 2000)

Prints one line per figure and exits 1 when the program crashed, hung, printed something else
than without the agent, lost CPU time, or when the agent's memory exceeded its budget.
tests/lifecycle/test_soak.py runs the short form.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.lifecycle.recorded import PROGRAMS, Run, cpu_s, losses, run, ticks, weights_s

MEMORY_BUDGET_BYTES = 64 << 20


@dataclass(frozen=True)
class SoakResult:
    """The figures of one soak."""

    run: Run
    samples: int
    weights_over_cpu: float
    agent_memory_bytes: int
    bytes_per_sample: float
    lost: dict[str, int]
    child_logs: int

    def failures(self) -> list[str]:
        """What did not hold."""
        failed = []
        if self.run.code != 0 or self.run.output != "done\n":
            failed.append(f"the program ended with {self.run.code} and printed {self.run.output!r}")
        if abs(self.weights_over_cpu - 1) > 0.01:
            failed.append(f"weights are {self.weights_over_cpu:.4f} of the CPU time")
        if self.agent_memory_bytes > MEMORY_BUDGET_BYTES:
            failed.append(f"the agent used {self.agent_memory_bytes >> 20} MiB")
        return failed


def soak(seconds: float, rate_hz: int) -> SoakResult:
    """Build the program and its library, run them, read the log."""
    with tempfile.TemporaryDirectory(prefix="sonde-soak-") as name:
        folder = Path(name)
        library, program = folder / "soak_library.so", folder / "soak"
        subprocess.run(
            ["gcc", "-O1", "-shared", "-fPIC", "-o", library, PROGRAMS / "soak_library.c"], check=True
        )
        subprocess.run(
            ["g++", "-O1", "-g", "-pthread", "-o", program, PROGRAMS / "soak.cpp", "-ldl"], check=True
        )
        result = run([program, str(seconds), library], rate_hz=rate_hz)
    log = result.main()
    statistics = log.statistics
    return SoakResult(
        run=result,
        samples=ticks(log),
        weights_over_cpu=weights_s(log) / cpu_s(log) if log.footer else 0.0,
        agent_memory_bytes=statistics.get("thread_memory_bytes", 0) + statistics.get("node_memory_bytes", 0),
        bytes_per_sample=log.size_bytes / max(1, ticks(log)),
        lost=losses(log),
        child_logs=len(result.logs()) - 1,
    )


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    rate_hz = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    result = soak(seconds, rate_hz)
    print(f"program            {result.run.errors.strip()}")
    print(f"samples            {result.samples}")
    print(f"weights / CPU time {result.weights_over_cpu:.4f}")
    print(f"agent memory       {result.agent_memory_bytes / 2**20:.1f} MiB")
    print(f"bytes per sample   {result.bytes_per_sample:.1f}")
    print(f"child logs         {result.child_logs}")
    print(f"lost               {result.lost}")
    for failure in result.failures():
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if result.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
