"""What it costs that the agent stands in front of torch's autograd engine and its inter-op pool.

Usage: python -m benchmarks interposers [PAIRS]    (default 60)

In: nothing. Out: per loop the CPU time with the agent's functions in place over that without, in one
process: the slots through which torch calls them are switched between the agent's function and torch's own, in
pairs of short blocks in random order. The agent samples once a second, so its handler does not count.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from benchmarks.lib.environment import write
from sonde.native import agent_path

BLOCK_S = 0.1  # of CPU time
LIBRARIES = ("libtorch_cpu.so", "libtorch_python.so", "libc10.so")
SYMBOLS = ("evaluate_function", "execute_with_graph_task", "10ThreadPool3runE")


def relocations() -> list[tuple[str, int, str]]:
    """(library, offset, symbol) of every slot that the agent's functions may be in."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "lib"
    found = []
    for library in LIBRARIES:
        path = str(folder / library)
        listing = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            words = line.split()
            if len(words) > 4 and any(name in words[4] for name in SYMBOLS):
                found.append((library, int(words[0], 16), words[4]))
    return found


def base_of(library: str) -> int:
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("/" + library):
            return int(line.split("-")[0], 16)
    raise SystemExit(f"{library} is not mapped")


class Switch:
    """The slots, switched together."""

    def __init__(self, slots: list[tuple[str, int, str]]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        agent = ctypes.CDLL(str(agent_path()))
        torchs = {name: ctypes.CDLL(name, mode=os.RTLD_NOLOAD) for name in LIBRARIES}
        self._slots = []
        for library, offset, symbol in slots:
            address = base_of(library) + offset
            page = address & -mmap.PAGESIZE
            assert libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), 3) == 0
            ours = ctypes.cast(getattr(agent, symbol), ctypes.c_void_p).value
            owner = torchs["libc10.so" if "ThreadPool" in symbol else "libtorch_cpu.so"]
            real = ctypes.cast(getattr(owner, symbol), ctypes.c_void_p).value
            if not ours or not real or ours == real:
                raise SystemExit(f"{symbol}: the agent does not stand in front of it")
            self._slots.append((ctypes.c_uint64.from_address(address), ours, real))

    def set(self, on: bool) -> None:
        for slot, ours, real in self._slots:
            slot.value = ours if on else real


def loops() -> dict[str, Callable[[], object]]:
    import torch
    from torch import nn

    torch.set_num_threads(1)
    weight = torch.ones(1, requires_grad=True)
    model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.ReLU())])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(4, 64)

    def smallest_backward() -> object:
        return (weight * 2).backward()  # type: ignore[no-untyped-call]

    def training() -> object:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        return optimizer.step()

    @torch.jit.script
    def forked(y: torch.Tensor) -> torch.Tensor:
        return torch.jit.wait(torch.jit.fork(torch.neg, y))  # type: ignore[no-any-return]

    return {"smallest_backward": smallest_backward, "training": training, "fork": lambda: forked(x)}


def cpu_per_call_us(call: Callable[[], object]) -> float:
    calls, start = 0, time.process_time()
    while time.process_time() - start < BLOCK_S:
        for _ in range(20):
            call()
        calls += 20
    return (time.process_time() - start) / calls * 1e6


def child(slots: list[tuple[str, int, str]], count: int) -> list[dict[str, object]]:
    chance = random.Random(1)
    timed = loops()
    for call in timed.values():
        cpu_per_call_us(call)
    switch = Switch(slots)
    rows: list[dict[str, object]] = []
    for name, call in timed.items():
        logs, costs = [], []
        for _ in range(count):
            cost = {}
            for on in chance.sample([True, False], 2):
                switch.set(on)
                cost[on] = cpu_per_call_us(call)
            logs.append(math.log(cost[True] / cost[False]))
            costs.append(cost[False])
        mean, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(count)
        typical = statistics.median(costs)
        print(
            f"{name}: {typical:.2f} us of CPU a call; with the agent's functions "
            f"{mean * 100:+.2f} % ± {2 * error * 100:.2f} (2 σ), {mean * typical * 1e3:+.0f} ns a call"
        )
        bounds = {"share": mean, "low": mean - 2 * error, "high": mean + 2 * error}
        rows.append({"loop": name, "cpu_us": typical, **bounds, "pairs": count})
    return rows


def main() -> None:
    if len(sys.argv) > 2:
        rows = child(json.loads(sys.argv[2]), int(sys.argv[1]))
        Path(sys.argv[3]).write_text(json.dumps(rows))
        return
    count = sys.argv[1] if len(sys.argv) > 1 else "60"
    folder = Path("/tmp") / f"sonde-interposers-{os.getpid()}"
    (folder / "raw").mkdir(parents=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": str(agent_path()),
        "SONDE_AGENT_FOLDER": str(folder),
        "SONDE_AGENT_RATE": "1",
        "LD_BIND_NOW": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "benchmarks.suites.interposers", count, json.dumps(relocations())]
    try:
        subprocess.run([*command, str(folder / "rows.json")], env=environment, check=True)
        print(write("interposers", {"rows": json.loads((folder / "rows.json").read_text())}))
    finally:
        subprocess.run(["rm", "-r", str(folder)], check=False)


if __name__ == "__main__":
    main()
