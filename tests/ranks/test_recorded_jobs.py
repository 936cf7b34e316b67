"""Jobs of two ranks, recorded for real: ranks, groups, exact collectives, and the late one named with its line."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.ranks.job import Job
from sonde.native import agent_path
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.ranks.jobs import BEGIN, TRAIN, own_count, recorded

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not agent_path().exists(), reason="the agent is not built: make native"),
]

SLEEPER = (
    BEGIN
    + TRAIN
    + """
dist.init_process_group("gloo")
rank = dist.get_rank()
def late(step):
    if rank == 1:
        time.sleep(0.03)  # the planted line
train(rank, 60, late)
done(rank)
dist.destroy_process_group()
"""
)

SPAWNED = (
    BEGIN
    + TRAIN
    + """
import torch.multiprocessing as mp
import sonde
def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    sonde.role("rollout" if rank else "trainer")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    pair = dist.new_group([0, 1], group_desc="pair")
    train(rank, 10)
    parts = [torch.zeros(6, dtype=torch.int64) for _ in range(2)]
    dist.all_gather(parts, torch.ones(6, dtype=torch.int64), group=pair)
    if rank == 0:
        dist.send(torch.ones(100), 1)
    else:
        dist.recv(torch.zeros(100), 0)
    dist.barrier()
    done(rank)
    dist.destroy_process_group()
if __name__ == "__main__":
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    mp.spawn(work, (port,), nprocs=2)
"""
)


SHARDED = """
import json, os, sys, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
torch.set_num_threads(1)
def own_record():
    # Torch's own flight recorder, which is no part of Sonde: name and elements of each call.
    from torch._C._distributed_c10d import _dump_fr_trace_json
    found = {}
    for entry in json.loads(_dump_fr_trace_json())["entries"]:
        elements = 0 if not entry["input_sizes"] else sum(torch.Size(s).numel() for s in entry["input_sizes"])
        key = f"{entry['profiling_name'].split(' ')[0]} {elements}"
        found[key] = found.get(key, 0) + 1
    return found
def work(rank):
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/store", rank=rank, world_size=4)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("stage", "data"))
    model = torch.nn.Sequential(torch.nn.Linear(16, 16, bias=False), torch.nn.Linear(16, 16, bias=False))
    for layer in model:
        fully_shard(layer, mesh=mesh["data"])
    fully_shard(model, mesh=mesh["data"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    peer = rank + 2 if rank < 2 else rank - 2
    for step in range(5):
        if rank < 2:  # the first stage sends what the second receives
            loss = model(torch.randn(4, 16))
            dist.send(loss.detach().contiguous(), peer)
        else:
            got = torch.zeros(4, 16)
            dist.recv(got, peer)
            loss = model(got)
        loss.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    with open(f"{sys.argv[1]}/count-{rank}.json", "w") as file:
        json.dump(own_record(), file)
    dist.destroy_process_group()
children = []
for rank in range(4):
    children.append(os.fork())
    if children[-1] == 0:
        work(rank)
        sys.exit(0)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


CALLBACKS = (
    BEGIN
    + """
dist.init_process_group("gloo")
value = torch.ones(4)
for _ in range(5):
    work = dist.all_reduce(value, async_op=True)
    # gloo's own thread runs it, after the data have come and those that wait have been told.
    work.get_future().then(lambda future: time.sleep(0.05))
    work.wait()
    dist.barrier()
    own["all_reduce"] += 1
    time.sleep(0.06)
done(dist.get_rank())
dist.destroy_process_group()
"""
)


def planted_line(program: str) -> int:
    return line_with("# the planted line", program)


def line_with(text: str, program: str = SLEEPER) -> int:
    return next(i for i, line in enumerate(program.splitlines(), 1) if text in line)


def collectives_of(recording: Recording, rank: int) -> Counter[tuple[str, int]]:
    processes, calls = recording.table("processes"), recording.table("collectives")
    process = processes.array("process")[
        (processes.array("rank") == rank) & processes.text("role").equals("rank")
    ]
    mine = calls.take(np.isin(calls.array("process"), process))
    return Counter(zip(mine.text("kind").tolist(), mine.array("bytes").tolist(), strict=True))  # type: ignore[arg-type]


def test_a_sleeping_rank_is_named_with_its_line_and_every_collective_is_counted(tmp_path: Path) -> None:
    target, printed = recorded(tmp_path, SLEEPER, 2)
    recording = open_recording(target)
    for rank in (0, 1):
        found = collectives_of(recording, rank)
        # 32 x 8 floats of gradients and 4 floats of ours, as often as the program says.
        assert found["all_reduce", 1024] + found["all_reduce", 16] == own_count(tmp_path, rank)["all_reduce"]
        assert found["all_reduce", 1024] == found["all_reduce", 16] == 60
    calls = recording.table("collectives")
    calls = calls.take(calls.text("kind").equals("all_reduce"))
    asked = Counter(zip(calls.array("bytes").tolist(), calls.array("line").tolist(), strict=True))
    # Each has its line, whether a sample fell into it or not: of a bucket that of backward.
    assert asked == {(1024, line_with(".backward()")): 120, (16, line_with("dist.all_reduce(value)")): 120}
    assert {Path(file or "").name for file in calls.text("file").tolist()} == {"train.py"}
    job = Job(recording.table)
    assert (job.ranks, job.world_size, job.missing) == ((0, 1), 2, ())
    shared = job.shared
    assert (shared.unfinished, shared.mismatched) == (0, 0)
    assert (shared.waiting_ns + shared.transfer_ns == shared.end - shared.queued).all()
    late = job.late
    assert late is not None, printed
    assert (late.rank, late.pattern, late.cause.kind) == (1, "every step", "sleep")
    assert (Path(late.cause.place.file).name, late.cause.place.line) == ("train.py", planted_line(SLEEPER))
    assert late.late_ns >= 28e6
    assert late.without_ns is not None
    assert late.without_ns < late.step_ns - 25e6
    sentence = r"[Rr]ank 1 is \d+\.\d ± \d+\.\d ms late in every step: time\.sleep at train\.py:\d+"
    assert re.search(sentence, printed), printed
    assert "2 ranks" in printed
    one = VIEWS["steps"].data(recording, ShowOptions())
    assert len(one["processes"]) == 2


def test_a_collective_ends_before_what_the_program_does_with_its_result(tmp_path: Path) -> None:
    """Else what a rank waited for becomes its own way to the next call, and the replay saves nothing."""
    target, _ = recorded(tmp_path, CALLBACKS, 2)
    calls = open_recording(target).table("collectives")
    calls = calls.take(calls.text("kind").equals("all_reduce"))
    assert len(calls) == 2 * own_count(tmp_path, 0)["all_reduce"]
    transfer = calls.array("end_ns") - calls.array("start_ns")
    assert (transfer > 0).all()
    assert np.median(transfer) < 25e6, transfer


def test_spawned_ranks_have_numbers_roles_groups_and_messages(tmp_path: Path) -> None:
    target, _ = recorded(tmp_path, SPAWNED, 2, launcher="none")
    recording = open_recording(target)
    answer = VIEWS["ranks"].data(recording, ShowOptions())
    assert [(r["rank"], r["role"]) for r in answer["rows"]] == [(0, "trainer"), (1, "rollout")]
    assert answer["world_size"] == 2
    assert {(g["description"], tuple(g["ranks"])) for g in answer["groups"]} == {
        ("default_pg", (0, 1)),
        ("pair", (0, 1)),
    }
    for rank, message in ((0, "send"), (1, "receive")):
        found = collectives_of(recording, rank)
        assert found["all_reduce", 1024] == found["all_reduce", 16] == 10
        assert found["all_gather", 48] == 1
        assert found[message, 400] == 1
        assert sum(n for (kind, _), n in found.items() if kind == "barrier") >= 1
    shown = VIEWS["collectives"].data(recording, ShowOptions(by="rank"))
    rows = [r for r in shown["rows"] if r["kind"] == "all_reduce" and r["bytes"] == 1024]
    assert {r["rank"] for r in rows} == {0, 1}
    assert sum(r["calls"] for r in rows) == 20
    for row in rows:
        assert row["waiting_ms"] + row["transfer_ms"] == pytest.approx(row["total_ms"], abs=1e-6)
    assert json.dumps(shown)


def test_sharded_stages_have_exact_counts_sizes_messages_and_groups(tmp_path: Path) -> None:
    """FSDP2 in two stages of two ranks: every call that torch's flight recorder has, and no other."""
    target, _ = recorded(tmp_path, SHARDED, 4, launcher="none")
    recording = open_recording(target)
    answer = VIEWS["ranks"].data(recording, ShowOptions())
    assert [r["rank"] for r in answer["rows"]] == [0, 1, 2, 3]
    members = {tuple(g["ranks"]) for g in answer["groups"]}
    assert members >= {(0, 1, 2, 3), (0, 1), (2, 3), (0, 2), (1, 3)}
    for rank in range(4):
        own, found = own_count(tmp_path, rank), collectives_of(recording, rank)
        messages = sum(
            n for (kind, _), n in found.items() if kind in ("send", "receive")
        )  # it has none of gloo's
        assert sum(found.values()) - messages == sum(own.values()), (found, own)
        assert found["all_gather", 512] == sum(
            n for key, n in own.items() if "all_gather" in key and key.endswith(" 128")
        )
        # What gloo does for it is an all_reduce, which is what the flight recorder has.
        assert found["reduce_scatter", 1024] == own["gloo:all_reduce 256"]
        assert found["send" if rank < 2 else "receive", 256] == 5
    job = Job(recording.table)
    assert (job.shared.unfinished, job.shared.mismatched) == (0, 0)
    assert (job.shared.member.sum(axis=0) >= 2).all()
