"""Small jobs of ranks for the tests: started, recorded, and the count that each rank kept itself."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import sonde

# What every job begins with: it counts its own collectives and writes the count down.
BEGIN = """
import json, os, sys, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
torch.set_num_threads(1)
own = {"all_reduce": 0}
def done(rank):
    with open(f"{sys.argv[1]}/count-{rank}.json", "w") as file:
        json.dump(own, file)
"""
TRAIN = """
def train(rank, steps, late=lambda step: None):
    torch.manual_seed(0)
    model = DDP(torch.nn.Linear(32, 8, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    value = torch.ones(4)
    for step in range(steps):
        late(step)
        optimizer.zero_grad()
        model(torch.randn(16, 32)).sum().backward()
        optimizer.step()
        dist.all_reduce(value)
        own["all_reduce"] += 2  # the gradient's and ours
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def environment() -> dict[str, str]:
    return {
        **{k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")},
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(sonde.__file__).parent.parent),
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


def torchrun(ranks: int, script: Path, *words: str) -> list[str]:
    return [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-addr", "127.0.0.1",
        "--master-port", str(free_port()), str(script), *words,
    ]  # fmt: skip


def recorded(
    folder: Path, program: str, ranks: int, launcher: str = "torchrun", timeout: int = 150
) -> tuple[Path, str]:
    """Record a job; its recording and what Sonde printed."""
    script = folder / "train.py"
    script.write_text(program)
    target = folder / "job.sonde"
    command = torchrun(ranks, script, str(folder)) if launcher == "torchrun" else [str(script), str(folder)]
    run = [sys.executable, "-m", "sonde", "run", "-o", str(target), *command]
    done = subprocess.run(
        run, env=environment(), capture_output=True, text=True, timeout=timeout, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return target, done.stderr + done.stdout


def own_count(folder: Path, rank: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"count-{rank}.json").read_text())
    return found
