"""Jobs that hang, one per kind, all forked from one process that has imported torch once.

python hangs.py FOLDER      writes FOLDER/KIND.pids when both ranks of that kind have come to the planted place
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist
import torch.utils.data

FOLDER = sys.argv[1]


def wait_for_ever() -> None:
    while True:
        time.sleep(0.2)  # never entered


def never_entered(rank: int) -> None:
    if rank == 1:
        wait_for_ever()
    dist.all_reduce(torch.ones(1))


def other_kind(rank: int) -> None:
    if rank == 1:
        dist.all_gather([torch.zeros(1), torch.zeros(1)], torch.ones(1))  # other kind
        dist.barrier()
    dist.reduce(torch.ones(1), 0)
    dist.barrier()


def dead_rank(rank: int) -> None:
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    store = dist.distributed_c10d._get_default_store()
    store.wait(["what rank 1 would write"])  # gloo's own collectives notice a lost connection, this does not


def stopped(rank: int) -> None:
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)  # stopped
    dist.all_reduce(torch.ones(1))


class Slow(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> torch.Tensor:
        time.sleep(3600)  # starving
        return torch.ones(1)


def starving_loader(rank: int) -> None:
    if rank == 1:
        for _ in torch.utils.data.DataLoader(Slow(), num_workers=1):
            pass
    dist.all_reduce(torch.ones(1))


def order_of_groups(rank: int) -> None:
    one, two = dist.new_group([0, 1], group_desc="one"), dist.new_group([0, 1], group_desc="two")
    first, second = (one, two) if rank == 0 else (two, one)
    dist.all_reduce(torch.ones(1), group=first)
    dist.all_reduce(torch.ones(1), group=second)


def python_lock(rank: int) -> None:
    lock = threading.Lock()
    lock.acquire()
    if rank == 1:
        lock.acquire()  # held for ever
    dist.all_reduce(torch.ones(1))


def nothing_sent(rank: int) -> None:
    if rank == 1:
        wait_for_ever()
    dist.recv(torch.zeros(1), 1)


KINDS = (
    never_entered, other_kind, dead_rank, stopped, starving_loader, order_of_groups, python_lock, nothing_sent,
)  # fmt: skip


def work(kind: object, rank: int) -> None:
    name = kind.__name__  # type: ignore[attr-defined]
    dist.init_process_group("gloo", init_method=f"file://{FOLDER}/{name}.store", rank=rank, world_size=2)
    for _ in range(3):
        dist.all_reduce(torch.ones(1))
    with open(f"{FOLDER}/{name}.{rank}", "w") as file:
        file.write(str(os.getpid()))
    kind(rank)  # type: ignore[operator]


if __name__ == "__main__":
    torch.set_num_threads(1)
    wanted = sys.argv[2:] or [k.__name__ for k in KINDS]
    for kind in KINDS:
        for rank in (0, 1):
            if kind.__name__ in wanted and os.fork() == 0:
                try:
                    work(kind, rank)
                finally:
                    os._exit(1)
    signal.pause()
