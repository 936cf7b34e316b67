"""Two ranks that train together; the second has one planted reason to be late.

    python straggler.py CAUSE [STEPS]

The ranks are forked from one process, so that torch is imported once. A line that is planted ends in "# planted".
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.utils.data

LATE_S = 0.02
LATE_RANK = 1
PASSES, PASSES_BESIDE_A_NEIGHBOUR = 4, 60  # a rank that is hardly on its CPU is hardly pushed from it
NEIGHBOURS = 3
CAUSES = ("none", "sleep", "compute", "gc", "loader", "disk", "neighbour", "quota", "jitter")


class Slow(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    def __init__(self, late: bool) -> None:
        self.late = late

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, at: int) -> torch.Tensor:
        if self.late and at % 8 == 0:
            time.sleep(LATE_S)
        return torch.randn(64)


def plant(cause: str, rank: int) -> Any:
    """What a rank does at the start of each step."""
    late = rank == LATE_RANK
    dice = random.Random(7)
    weights = torch.randn(384, 384)
    garbage: list[Any] = []
    if cause == "gc" and late:
        garbage.extend({"a": [i], "b": (i,)} for i in range(20_000))
    file = tempfile.TemporaryFile(dir=".") if cause == "disk" and late else None  # noqa: SIM115

    def step() -> None:
        if cause == "jitter":
            if dice.randrange(2) == rank:  # both ranks throw the same dice
                time.sleep(LATE_S)
        elif not late:
            return
        elif cause == "sleep":
            time.sleep(LATE_S)  # planted
        elif cause == "compute":
            until = time.monotonic() + LATE_S
            while time.monotonic() < until:
                torch.mm(weights, weights)  # planted
        elif cause == "gc":
            gc.collect()  # planted
        elif cause == "disk":
            assert file is not None
            file.write(bytes(4_000_000))
            os.fsync(file.fileno())  # planted

    return step


def work(cause: str, steps: int, rank: int, folder: str) -> None:
    torch.manual_seed(rank)
    if cause == "neighbour":
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    planted = plant(cause, rank)
    loader = torch.utils.data.DataLoader(
        Slow(cause == "loader" and rank == LATE_RANK),
        batch_size=32,
        num_workers=1 if cause == "loader" else 0,
    )
    batches = iter(loader)
    for at in range(steps):
        if cause == "quota" and rank == LATE_RANK and at == 3:
            limit()
        batch = next(batches)  # planted
        planted()
        optimizer.zero_grad()
        for _ in range(PASSES_BESIDE_A_NEIGHBOUR if cause == "neighbour" else PASSES):
            model.module(batch).sum().backward()
        model(batch).sum().backward()
        optimizer.step()
    dist.destroy_process_group()


def group_of(pid: int) -> Path:
    """The control group of a limited rank; of version 1 where its CPU controller is mounted."""
    first = Path("/sys/fs/cgroup/cpu")
    return (first if first.is_dir() else Path("/sys/fs/cgroup")) / f"sonde-straggler-{pid}"


def limit() -> None:
    """A CPU quota of a twenty-fifth for this process."""
    group = group_of(os.getpid())
    group.mkdir()
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("4000")
    else:
        (group / "cpu.max").write_text("4000 100000")
    (group / "cgroup.procs").write_text(str(os.getpid()))


def main() -> None:
    cause, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        neighbours: list[Any] = []
        if cause == "neighbour":
            second = sorted(os.sched_getaffinity(0))[LATE_RANK]
            burn = f"import os\nos.sched_setaffinity(0, {{{second}}})\nwhile True: pass"
            neighbours = [
                subprocess.Popen([sys.executable, "-S", "-E", "-c", burn]) for _ in range(NEIGHBOURS)
            ]
        ranks = []
        for rank in (0, 1):
            ranks.append(os.fork())
            if ranks[-1] == 0:
                work(cause, steps, rank, folder)
                sys.exit(0)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in ranks]
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
        for pid in ranks:
            if group_of(pid).exists():
                group_of(pid).rmdir()
        sys.exit(max(codes))


if __name__ == "__main__":
    main()
