"""How to put each profiler around the same loop: command lines and where their output lies."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

LOOP = Path(__file__).parent / "workloads" / "loop.py"


@dataclass(frozen=True)
class Peer:
    """A way to run the loop. `needs` is the program it needs on PATH, if any."""

    name: str
    inside: str = "none"  # torch.profiler's kind, when it is the peer
    needs: str = ""

    def command(self, workload: str, seconds: float, output: Path) -> list[str]:
        loop = [sys.executable, str(LOOP), workload, str(seconds), self.inside]
        sonde = [sys.executable, "-m", "sonde", "run", "--quiet", "-o", str(output)]
        wrapped = {
            "sonde 100 Hz": [*sonde, "--window", "none", *loop[1:]],
            "sonde default": [*sonde, *loop[1:]],
            "sonde 1000 Hz": [*sonde, "--window", "none", "--rate", "1000", *loop[1:]],
            "py-spy": ["py-spy", "record", "-r", "100", "-f", "raw", "-o", str(output), "--", *loop],
            "py-spy --native": [
                "py-spy", "record", "-n", "-r", "100", "-f", "raw", "-o", str(output), "--", *loop,
            ],
            "perf dwarf 99 Hz": [
                "perf", "record", "-q", "-F", "99", "--call-graph", "dwarf,16384", "-o", str(output), "--", *loop,
            ],
            "scalene": ["scalene", "--cpu-only", "--json", "--outfile", str(output), "---", *loop[1:]],
        }  # fmt: skip
        return wrapped.get(self.name, loop)

    def missing(self) -> bool:
        return bool(self.needs) and shutil.which(self.needs) is None


PEERS = (
    Peer("nothing"),
    Peer("sonde 100 Hz"),
    Peer("sonde default"),
    Peer("sonde 1000 Hz"),
    Peer("torch.profiler", "default"),
    Peer("torch.profiler shapes", "shapes"),
    Peer("torch.profiler stacks", "stacks"),
    Peer("py-spy", needs="py-spy"),
    Peer("py-spy --native", needs="py-spy"),
    Peer("perf dwarf 99 Hz", needs="perf"),
    Peer("scalene", needs="scalene"),
)
