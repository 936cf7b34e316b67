"""Parts of the agent on their own: the ring under load, the log's writer against the decoder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sonde.store.rawlog import read_raw_log

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "native" / "agent"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def build(folder: Path, source: str, *others: str) -> Path:
    binary = folder / Path(source).stem
    sources = [ROOT / "native" / "tests" / source, *(AGENT / other for other in others)]
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-pthread", f"-I{AGENT}"]
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
