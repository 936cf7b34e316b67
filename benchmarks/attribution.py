"""How much of the CPU time each profiler can explain, on the same conv net, MLP and transformer.

Usage: python -m benchmarks.attribution [--seconds S]
Of all samples: the share with a Python line of the program, with an operator, with a named leaf, and
with a stack that reaches the root. Sonde's figures are its own quality record; py-spy's and perf's
are read from their output by the same rules.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.environment import write
from benchmarks.peers import PEERS

PROGRAM = "loop.py"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    options = parser.parse_args()
    rows = []
    for workload in ("conv_net", "op_dense", "transformer"):
        for name in ("sonde 100 Hz", "py-spy --native", "perf dwarf 99 Hz"):
            peer = next(p for p in PEERS if p.name == name)
            if peer.missing():
                continue
            with tempfile.TemporaryDirectory() as folder:
                output = Path(folder) / "out.sonde"
                command = peer.command(workload, options.seconds, output)
                subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
                row = {"workload": workload, "profiler": name, **READERS[name](output)}
            rows.append(row)
            shares = "  ".join(f"{k} {v:.1%}" for k, v in row.items() if isinstance(v, float))
            print(f"{workload:12} {name:18} {row['samples']:6} samples  {shares}", flush=True)
    print(write("attribution", {"seconds": options.seconds, "rows": rows}))


def of_sonde(output: Path) -> dict[str, object]:
    shown = [sys.executable, "-m", "sonde", "show", str(output), "quality", "--json"]
    quality = json.loads(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)
    return {k: v for k, v in quality["attributed"]["all"].items() if k != "module"}


def shares(stacks: Iterable[tuple[list[str], int]], is_root: tuple[str, ...]) -> dict[str, object]:
    """`stacks` are frames root first with a count."""
    total = python = op = leaf = root = 0
    for frames, count in stacks:
        total += count
        python += count * any(PROGRAM in f for f in frames)
        op += count * any("at::_ops::" in f for f in frames)
        leaf += count * (bool(frames) and not frames[-1].startswith(("0x", "[unknown", "[")))
        root += count * (bool(frames) and frames[0].startswith(is_root))
    whole = max(total, 1)
    return {
        "samples": total,
        "python": python / whole,
        "op": op / whole,
        "leaf": leaf / whole,
        "root": root / whole,
    }


def of_py_spy(output: Path) -> dict[str, object]:
    lines = (line.rpartition(" ") for line in output.read_text().splitlines() if line)
    return shares(
        (([*stack.split(";")], int(n)) for stack, _, n in lines), ("_start", "<module>", "thread", "clone")
    )


def of_perf(output: Path) -> dict[str, object]:
    script = ["perf", "script", "--no-inline", "-i", str(output), "-F", "comm,tid,ip,sym"]
    text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    stacks = []
    for block in text.split("\n\n"):
        frames = [line.strip().partition(" ")[2] for line in block.splitlines()[1:] if line.strip()]
        if frames:
            stacks.append((frames[::-1], 1))
    return shares(stacks, ("_start", "clone", "__clone", "start_thread", "__libc_start"))


READERS = {"sonde 100 Hz": of_sonde, "py-spy --native": of_py_spy, "perf dwarf 99 Hz": of_perf}


if __name__ == "__main__":
    main()
