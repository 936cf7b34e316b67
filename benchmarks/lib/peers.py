"""How to put each profiler around the same loop: command lines and where their output lies."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

LOOP = Path(__file__).parents[1] / "workloads" / "loop.py"


@dataclass(frozen=True)
class Peer:
    """A way to run the loop. `needs` is the program it needs, if any."""

    name: str
    inside: str = "none"  # torch.profiler's kind, when it is the peer
    needs: str = ""

    def command(self, workload: str, seconds: float, output: Path) -> list[str]:
        loop = [sys.executable, str(LOOP), workload, str(seconds), self.inside]
        sonde = [sys.executable, "-m", "sonde", "run", "--quiet", "-o", str(output)]
        tool = program(self.needs) or self.needs
        spy = [tool, "record", "-r", "100", "-f", "raw", "-o", str(output)]
        wrapped = {
            "sonde 100 Hz": [*sonde, "--window", "none", *loop[1:]],
            "sonde default": [*sonde, *loop[1:]],
            "sonde 1000 Hz": [*sonde, "--window", "none", "--rate", "1000", *loop[1:]],
            "py-spy": [*spy, "--", *loop],
            "py-spy --native": [*spy, "-n", "--", *loop],
            "perf dwarf 99 Hz": [
                tool, "record", "-q", "-F", "99", "--call-graph", "dwarf,16384", "-o", str(output), "--", *loop,
            ],
            "austin 100 Hz": [tool, "-i", "10ms", "-o", str(output), *loop],
            "scalene": [tool, "run", "--cpu-only", "-o", str(output), loop[1], "---", *loop[2:]],
        }  # fmt: skip
        return wrapped.get(self.name, loop)

    def missing(self) -> bool:
        return bool(self.needs) and program(self.needs) is None


def surroundings() -> dict[str, str]:
    """For commands that run in another folder: this tree's Sonde is found from there too."""
    return {**os.environ, "PYTHONPATH": str(LOOP.parents[2])}


def program(name: str) -> str | None:
    """Beside this Python, or on PATH."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which(name, path=beside) if name else None


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
    Peer("austin 100 Hz", needs="austin"),
    Peer("scalene", needs="scalene"),
)


def present(names: list[str] | None = None) -> list[Peer]:
    """Those of `names` (or all) that are installed; says which are not."""
    chosen = [p for p in PEERS if not names or p.name in ("nothing", *names)]
    for peer in chosen:
        if peer.missing():
            print(f"absent: {peer.name} ({peer.needs} is not installed)", flush=True)
    return [p for p in chosen if not p.missing()]
