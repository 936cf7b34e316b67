"""Ten minutes of thread churn, fork, dlopen/dlclose, exceptions and code churn at 2000 Hz, with the agent inside.

Usage: python -m benchmarks soak [SECONDS] [RATE_HZ]    (default 600 2000)

Two programs run side by side: one in C++, one in Python. Prints one line per figure, writes
benchmarks/results, and exits 1 when a program crashed, hung, printed something else than it
should, lost CPU time, or when the agent's memory exceeded its budget. The memory is what the agent
says of itself, and beside it the growth of the program's peak by a short run without the agent.
tests/lifecycle/test_soak.py runs the short form.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.lib.environment import write
from tests.lifecycle.recorded import HANGS_AFTER_S, PROGRAMS, Run, cpu_s, losses, run, ticks, weights_s

MEMORY_BUDGET_BYTES = 64 << 20
PLAIN_SECONDS = 5.0  # for the peak memory without the agent
NAMES = ("native", "python")


@dataclass(frozen=True)
class SoakResult:
    """The figures of one program."""

    name: str
    exit_code: int
    output: str
    did: str
    samples: int
    weights_over_cpu: float
    agent_memory_bytes: int
    peak_growth_bytes: int
    bytes_per_sample: float
    lost: dict[str, int]
    child_logs: int
    children_short_of_cpu: int  # logs of children whose weights miss their CPU time by over 1 % and 2 ms

    def failures(self) -> list[str]:
        """What did not hold."""
        failed = []
        if self.exit_code != 0 or self.output != "done\n":
            failed.append(f"{self.name}: ended with {self.exit_code} and printed {self.output!r}")
        if abs(self.weights_over_cpu - 1) > 0.01:
            failed.append(f"{self.name}: weights are {self.weights_over_cpu:.4f} of the CPU time")
        if max(self.agent_memory_bytes, self.peak_growth_bytes) > MEMORY_BUDGET_BYTES:
            memory = max(self.agent_memory_bytes, self.peak_growth_bytes) >> 20
            failed.append(f"{self.name}: the agent used {memory} MiB")
        if self.children_short_of_cpu:
            failed.append(f"{self.name}: {self.children_short_of_cpu} children lost CPU time")
        return failed


def soak(seconds: float, rate_hz: int, names: tuple[str, ...] = NAMES) -> list[SoakResult]:
    """Build the programs and their library, run them side by side, read the logs."""
    with tempfile.TemporaryDirectory(prefix="sonde-soak-") as place:
        folder = Path(place)
        library, program = folder / "soak_library.so", folder / "soak"
        flags = ["-O1", "-shared", "-fPIC", "-o", library, PROGRAMS / "soak_library.c"]
        subprocess.run(["gcc", *flags], check=True)
        flags = ["-O1", "-g", "-pthread", "-o", program, PROGRAMS / "soak.cpp", "-ldl"]
        subprocess.run(["g++", *flags], check=True)
        commands = {"native": [program], "python": [sys.executable, PROGRAMS / "soak_python.py"]}

        def one(name: str) -> SoakResult:
            plain = run([*commands[name], str(min(PLAIN_SECONDS, seconds)), library], agent=False)
            command = [*commands[name], str(seconds), library]
            measured = run(command, rate_hz=rate_hz, limit_s=seconds + HANGS_AFTER_S)
            return _figures(name, measured, plain)

        with ThreadPoolExecutor(len(names)) as pool:
            return list(pool.map(one, names))


def _peak_bytes(result: Run) -> int:
    """What the program said of itself at its end; wait4's figure is that of whoever forked it."""
    words = result.errors.split()
    return int(words[words.index("peak_kib") + 1]) * 1024 if "peak_kib" in words else 0


def _figures(name: str, result: Run, plain: Run) -> SoakResult:
    logs = result.logs()
    log = result.main()
    children = [child for child in logs if child.header.pid != result.pid and child.footer]
    short = [c for c in children if abs(weights_s(c) - cpu_s(c)) > max(0.01 * cpu_s(c), 0.002)]
    statistics = log.statistics
    return SoakResult(
        name=name,
        exit_code=result.code,
        output=result.output,
        did=result.errors.strip(),
        samples=ticks(log),
        weights_over_cpu=weights_s(log) / cpu_s(log) if log.footer else 0.0,
        agent_memory_bytes=statistics.get("thread_memory_bytes", 0) + statistics.get("node_memory_bytes", 0),
        peak_growth_bytes=_peak_bytes(result) - _peak_bytes(plain),
        bytes_per_sample=log.size_bytes / max(1, ticks(log)),
        lost=losses(log),
        child_logs=len(logs) - 1,
        children_short_of_cpu=len(short),
    )


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    rate_hz = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    results = soak(seconds, rate_hz)
    for result in results:
        print(f"{result.name}: {result.did}")
        print(f"  samples            {result.samples}")
        print(f"  weights / CPU time {result.weights_over_cpu:.4f}")
        print(f"  agent memory       {result.agent_memory_bytes / 2**20:.1f} MiB by its own count")
        print(f"  peak memory        {result.peak_growth_bytes / 2**20:.1f} MiB over a run without it")
        print(f"  bytes per sample   {result.bytes_per_sample:.1f}")
        print(f"  child logs         {result.child_logs}")
        print(f"  lost               {result.lost}")
    failures = [line for result in results for line in result.failures()]
    rows = [asdict(result) for result in results]
    print(write("soak", {"seconds": seconds, "rate_hz": rate_hz, "failures": failures, "rows": rows}))
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
