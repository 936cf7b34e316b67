"""What the agent's signal handlers may need of a stack, from the library itself; fails when it is too much.

Enters: libsonde_agent.so as it was linked. Leaves: the deepest path of each handler, and exit code 1 when they exceed
the limit, when one of their functions has no fixed frame (alloca), or when they recurse. The frame of a function is
the largest distance to its caller's stack pointer in the unwind tables; calls and jumps are those of the disassembly.
Functions of libc count LIBC_BYTES each, and so do calls through a pointer, but for those in POINTERS.

What depends on the processor, how its disassembly writes calls and the stack pointer, is in disassembly.py of its
folder in agent/arch.

usage: stack_usage.py LIBRARY HEADER_WITH_THE_LIMIT FOLDER_OF_THE_ARCHITECTURE
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

HANDLERS = ("on_sample_signal", "on_fault")  # the second interrupts the first when a guarded read faults
LIBC_BYTES = 512
ENGINES = r"\d(PerfKernel|PerfTimer|TimerKernel|CpuTimer|Engine)\d+(weigh|set_period|is_of_this_stay|pause)E"
# Who calls through a pointer -> what may be meant. A handler of the program itself is not counted.
POINTERS = {
    r"handle_sample_signal|take_sample|sample_once|kernel_stack|keep_pending|settle_mask|stop_clock": ENGINES,
    r"sonde7deliverE": None,
}
LIMIT = re.compile(r"kHandlerStackBytes = (\d+) << 10")

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
FDE = re.compile(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
ROW = re.compile(r"^[0-9a-f]{16} (\S+)")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def disassembly_of(folder: str) -> ModuleType:
    """disassembly.py of an architecture."""
    spec = importlib.util.spec_from_file_location("disassembly", Path(folder) / "disassembly.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"stack_usage: {folder} has no disassembly.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def frame_bytes(library: str, arch: ModuleType) -> dict[int, int | None]:
    """Start of each function -> its largest frame, with the return address; None: not fixed."""
    frames: dict[int, int | None] = {}
    start = -1
    for line in output("readelf", "--debug-dump=frames-interp", library).splitlines():
        if found := FDE.search(line):
            start = int(found[1], 16)
            frames[start] = arch.RETURN_BYTES
        elif start >= 0 and (found := ROW.match(line)):
            cfa = found[1]
            known = frames[start]
            if not cfa.startswith(f"{arch.STACK_POINTER}+"):
                frames[start] = None
            elif known is not None:
                frames[start] = max(known, int(cfa.partition("+")[2]))
    return frames


def call_graph(library: str, arch: ModuleType) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Functions with their addresses, and what each calls or jumps to; "*" is a pointer, "libc" the world outside."""
    address: dict[str, int] = {}
    calls: dict[str, set[str]] = defaultdict(set)
    name = ""
    for line in output("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        if found := FUNCTION.match(line):
            name = found[1]
            address.setdefault(name, int(line.split()[0], 16))
        elif found := arch.TRANSFER.search(line):
            pointer, target, offset = found[1], found[3], found[4]
            if pointer:
                outside = "#" in line and "@" in line  # through the table of imported addresses
                table = line.split()[1] in arch.TABLE_JUMPS and not outside
                calls[name].add("libc" if outside else name if table else "*")
            elif target and "@plt" in target:
                calls[name].add("libc")
            elif target and target != name and offset is None:
                calls[name].add(target)
            # Jumps into the middle of another function come from its cold part and from the fix-ups of guarded loads.
    return address, calls


class Usage:
    def __init__(self, library: str, arch: ModuleType) -> None:
        self.least = arch.RETURN_BYTES
        self.frames = frame_bytes(library, arch)
        self.address, self.calls = call_graph(library, arch)
        self.known: dict[str, tuple[int, list[str]]] = {}
        self.active: list[str] = []

    def deepest(self, name: str) -> tuple[int, list[str]]:
        """Bytes from the entry of `name`, and the path that needs them."""
        if name in self.known:
            return self.known[name]
        if name in self.active:
            raise SystemExit(
                f"stack_usage: recursion in a signal handler: {' -> '.join([*self.active, name])}"
            )
        own = self.frames.get(self.address[name], self.least)
        if own is None:
            raise SystemExit(f"stack_usage: {name} has no fixed frame; signal handlers must not use alloca")
        cold = f"{name}.cold"
        called = self.calls[name] | self.calls[cold]
        if cold in self.address:
            own = max(own, self.frames.get(self.address[cold], self.least) or 0)
        self.active.append(name)
        below: tuple[int, list[str]] = (0, [])
        for target in called - {name, cold}:
            below = max(below, self.of_call(name, target))
        self.active.pop()
        self.known[name] = (own + below[0], [f"{name} {own}", *below[1]])
        return self.known[name]

    def of_call(self, caller: str, target: str) -> tuple[int, list[str]]:
        if target == "libc":
            return (LIBC_BYTES, ["libc"])
        if target != "*":
            return self.deepest(target) if target in self.address else (0, [])
        for callers, meant in POINTERS.items():
            if re.search(callers, caller):
                targets = [name for name in self.address if meant and re.search(meant, name)]
                return max((self.deepest(name) for name in targets), default=(0, []))
        return (LIBC_BYTES, ["libc"])


def main(library: str, header: str, arch: str) -> int:
    limit = LIMIT.search(Path(header).read_text(encoding="utf-8"))
    if limit is None:
        raise SystemExit(f"stack_usage: no kHandlerStackBytes in {header}")
    limit_bytes = int(limit[1]) << 10
    usage = Usage(library, disassembly_of(arch))
    total = 0
    for handler in HANDLERS:
        name = next(
            name for name in usage.address if re.search(rf"\d{handler}E", name) and ".cold" not in name
        )
        needed, path = usage.deepest(name)
        total += needed
        print(f"{handler}: {needed} bytes\n  " + "\n  ".join(path))
    print(f"signal handlers need {total} bytes of stack, {limit_bytes} are allowed")
    if total > limit_bytes:
        print("stack_usage: too much: move locals to the thread's scratch memory", file=sys.stderr)
    return int(total > limit_bytes)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
