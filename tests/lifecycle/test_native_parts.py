"""Parts of the agent on their own: the ring under load, the log's writer against the decoder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sonde.ingest.agent.decode import read_raw_log

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "native" / "agent"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def build(folder: Path, source: str, *others: str) -> Path:
    binary = folder / Path(source).stem
    sources = [ROOT / "native" / "tests" / source, *(AGENT / other for other in others)]
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-pthread", f"-I{AGENT}", f"-I{AGENT / 'arch/x86_64'}"]
    subprocess.run(["g++", *flags, "-o", binary, *sources], check=True)
    return binary


def test_a_ring_keeps_order_and_content_at_any_fill(tmp_path: Path) -> None:
    binary = build(tmp_path, "ring_torture.cpp")
    result = subprocess.run([binary, "200000"], capture_output=True, text=True)
    assert (result.returncode, result.stdout.split()[:2]) == (0, ["records", "200000"])
    assert int(result.stdout.split()[3]) > 0  # it was full at times


def test_what_the_writer_writes_is_what_the_decoder_reads(tmp_path: Path) -> None:
    binary = build(
        tmp_path,
        "log_round_trip.cpp",
        "common/descriptors.cpp",
        "log/writer.cpp",
        "log/interner.cpp",
        "log/loss.cpp",
        "background/stacks.cpp",
    )
    subprocess.run([binary, tmp_path / "1.2.slog"], check=True)
    log = read_raw_log(tmp_path / "1.2.slog")
    assert len(log.losses.count) == 0
    assert log.samples.weight_ns.tolist() == list(range(400))
    expected = [5_000_000_000 + (i if i % 2 else 1000 - i) for i in range(400)]
    assert log.samples.time_ns.tolist() == expected
    assert log.statistics["refused"] == 1
    assert log.statistics["epochs"] >= 1
    for i in (0, 255, 256, 399):  # the whole stack, leaf first, across epochs
        pcs, node = [], int(log.samples.native[i])
        while node:
            pcs.append(int(log.nodes.pc[node - 1]))
            node = int(log.nodes.parent[node - 1])
        assert pcs == [(i << 20) + k + 1 for k in range(1000)]
    assert (log.nodes.flags == 8).all()
    parents = log.nodes.parent.astype(np.int64)
    assert (parents <= np.arange(len(parents))).all()  # parents come before children


def test_stacks_that_share_their_outer_frames_stay_apart(tmp_path: Path) -> None:
    sources = ("common/descriptors.cpp", "log/writer.cpp", "log/interner.cpp", "log/loss.cpp")
    binary = build(tmp_path, "shared_outer_frames.cpp", *sources, "background/stacks.cpp")
    command = [binary, tmp_path / "1.2.slog"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    log = read_raw_log(tmp_path / "1.2.slog")
    assert len(said) == len(log.samples.weight_ns) == 3000

    def frames(nodes: object, leaf: int, column: str) -> str:
        values = []
        while leaf:
            values.append(str(int(getattr(nodes, column)[leaf - 1])))
            leaf = int(nodes.parent[leaf - 1])  # type: ignore[attr-defined]
        return ",".join(values)

    for i, line in enumerate(said):
        samples = log.samples
        found = (
            frames(log.nodes, int(samples.native[i]), "pc"),
            frames(log.nodes, int(samples.owner_native[i]), "pc"),
            frames(log.python_nodes, int(samples.python[i]), "code"),
        )
        assert list(found) == line.split(" ")
    assert ((log.python_nodes.self_pointer != 0) == (log.python_nodes.code > 3)).all()
    stacks = [part.split(",") for line in said for part in line.split(" ")[:2] if part]
    paths = {tuple(stack[i:]) for stack in stacks for i in range(len(stack))}
    assert len(log.nodes.pc) == len(paths)  # each path to the root is one node, written once


def test_the_background_thread_is_rare_while_nothing_happens_and_never_late(tmp_path: Path) -> None:
    said = subprocess.run([build(tmp_path, "pace.cpp")], capture_output=True, text=True, check=True).stdout
    wait_ms = {name: int(value) for name, value in (line.split() for line in said.splitlines())}
    assert wait_ms.pop("deep_stacks") == pytest.approx(450 * 2 / 3, abs=1)  # a third of the ring, not a half
    assert wait_ms == {
        "young": 100,
        "calm": 450,
        "news": 100,
        "soon_after": 100,
        "calm_again": 450,
        "flood": 100,
    }
