"""How much of the CPU time each profiler can explain, on the same conv net, MLP and transformer.

Usage: python -m benchmarks attribution [--seconds S] [--workloads …]
Of all samples: the share with a Python line of the program, with an operator, with a named leaf, and
with a stack that reaches the root; "–" for what a profiler does not look at. What Sonde exports and what the other
samplers write are read by the same rules; torch.profiler has no samples:
its shares are of the loop's CPU time. A profiler that is not installed is named.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.lib.environment import write
from benchmarks.lib.peers import present, program, surroundings

PROGRAM = "loop.py"
Row = dict[str, "float | int | None"]
COLUMNS = ("python", "op", "leaf", "root")
ROOTS = ("_start", "clone", "__clone", "start_thread", "__libc_start", "<module>", "thread")
UNNAMED = re.compile(
    r"^0x|^\[unknown|^\[label\]|\+0x[0-9a-f]+$|^$"
)  # an address, or a heading without a frame


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--workloads", nargs="+", default=["conv_net", "op_dense", "transformer"])
    options = parser.parse_args()
    peers = [p for p in present(list(READERS)) if p.name in READERS]
    rows = []
    for workload in options.workloads:
        for peer in peers:
            with tempfile.TemporaryDirectory() as folder:
                output = Path(folder) / "out.sonde"
                # Ten seconds of tiny operators are more records than torch.profiler can hold in 24 GB.
                seconds = min(options.seconds, 2.0) if peer.inside != "none" else options.seconds
                command = peer.command(workload, seconds, output)
                if peer.inside != "none":
                    command.append("attribution")
                done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=surroundings())
                if done.returncode:
                    print(f"{workload} {peer.name} failed: {done.stderr[-300:]}", flush=True)
                    continue
                found = READERS[peer.name](output, done.stdout)
                row = {"workload": workload, "profiler": peer.name, "seconds": seconds, **found}
            rows.append(row)
            shown = "  ".join(f"{k} " + ("–" if row[k] is None else f"{row[k]:.1%}") for k in COLUMNS)
            samples = "no" if row["samples"] is None else row["samples"]
            print(f"{workload:12} {peer.name:22} {samples:>6} samples  {shown}", flush=True)
    print(write("attribution", {"seconds": options.seconds, "rows": rows}))


def of_sonde(output: Path, printed: str) -> Row:
    """What it exports, read as py-spy's output is; stacks are weighted by CPU time, samples are counted by Sonde."""
    export = [sys.executable, "-m", "sonde", "export", str(output), "-f", "collapsed"]
    text = subprocess.run(export, capture_output=True, text=True, check=True).stdout
    shown = [sys.executable, "-m", "sonde", "show", str(output), "quality", "--json"]
    quality = json.loads(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)
    return {**shares(collapsed(text), ROOTS), "samples": quality["samples"]}


def shares(stacks: Iterable[tuple[list[str], int]], is_root: tuple[str, ...], native: bool = True) -> Row:
    """`stacks` are frames root first with a count. Without `native` frames nothing is known below Python."""
    total = python = op = leaf = root = 0
    for frames, count in stacks:
        total += count
        python += count * any(PROGRAM in f for f in frames)
        op += count * any("at::_ops::" in f or f.startswith("aten::") for f in frames)
        leaf += count * (bool(frames) and UNNAMED.search(frames[-1]) is None)
        root += count * (bool(frames) and frames[0].startswith(is_root))
    whole = max(total, 1)
    below = {"op": op / whole, "leaf": leaf / whole} if native else {"op": None, "leaf": None}
    return {"samples": total, "python": python / whole, "root": root / whole, **below}


def collapsed(text: str) -> Iterable[tuple[list[str], int]]:
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isdigit():
            yield stack.split(";"), int(count)


def of_py_spy(output: Path, printed: str) -> Row:
    return shares(collapsed(output.read_text()), ("<module>", "thread"), native=False)


def of_py_spy_native(output: Path, printed: str) -> Row:
    return shares(collapsed(output.read_text()), ROOTS)


def of_austin(output: Path, printed: str) -> Row:
    """`P1;T0:2;file:function:line;… microseconds`; a sample is one line."""
    stacks = [
        ([frame for frame in frames if not frame.startswith(("P", "T")) or ":" not in frame[:2]], 1)
        for frames, _ in collapsed(output.read_text(errors="replace"))  # torn names among them
    ]
    stacks = [(frames[-_depth(frames) :] if _depth(frames) else [], 1) for frames, _ in stacks]
    whole = shares(stacks, (), native=False)
    rooted = sum(
        bool(frames) and ("<module>" in frames[0] or "bootstrap" in frames[0]) for frames, _ in stacks
    )
    return {**whole, "root": rooted / max(len(stacks), 1)}


def _depth(frames: list[str]) -> int:
    return sum(frame.count(":") >= 2 for frame in frames)


def of_scalene(output: Path, printed: str) -> Row:
    """CPU percentages by line; stacks are not kept."""
    data = json.loads(output.with_suffix(".json").read_text())  # it has its own mind of suffixes
    parts = ("n_cpu_percent_python", "n_cpu_percent_c", "n_sys_percent")
    lines = [line for name, one in data["files"].items() if name.endswith(PROGRAM) for line in one["lines"]]
    share = sum(line.get(part, 0.0) for line in lines for part in parts) / 100
    return {"samples": None, "python": min(share, 1.0), "op": None, "leaf": None, "root": None}


def of_perf(output: Path, printed: str) -> Row:
    script = [program("perf") or "perf", "script", "--no-inline", "-i", str(output), "-F", "comm,tid,ip,sym"]
    text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    stacks = []
    for block in text.split("\n\n"):
        frames = [line.strip().partition(" ")[2] for line in block.splitlines()[1:] if line.strip()]
        if frames:
            stacks.append((frames[::-1], 1))
    return shares(stacks, ROOTS)


def of_torch(output: Path, printed: str) -> Row:
    figures = json.loads(printed.splitlines()[-1])
    return {"samples": None, "python": figures["python"], "op": figures["op"], "leaf": None, "root": None}


READERS: dict[str, Callable[[Path, str], Row]] = {
    "sonde 100 Hz": of_sonde,
    "torch.profiler": of_torch,
    "torch.profiler shapes": of_torch,
    "torch.profiler stacks": of_torch,
    "py-spy": of_py_spy,
    "py-spy --native": of_py_spy_native,
    "perf dwarf 99 Hz": of_perf,
    "austin 100 Hz": of_austin,
    "scalene": of_scalene,
}


if __name__ == "__main__":
    main()
