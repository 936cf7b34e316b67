"""Small tables made by hand, in microseconds, for tests that assert exact numbers."""

from __future__ import annotations

from typing import Any

from sonde.columns import Table
from sonde.store import build


def kernels(*rows: dict[str, Any]) -> Table:
    """Rows of `kernels`: start, end in µs; stream, name, kind, class, launch as given."""
    return build.table(
        "kernels",
        len(rows),
        kernel=range(len(rows)),
        process=[r.get("process", 0) for r in rows],
        device=[r.get("device", 0) for r in rows],
        stream=[r.get("stream", 7) for r in rows],
        start_ns=[int(r["start"] * 1000) for r in rows],
        end_ns=[int(r["end"] * 1000) for r in rows],
        name=[r.get("name", "gemm") for r in rows],
        kind=[r.get("kind", "kernel") for r in rows],
        launch=[r.get("launch", -1) for r in rows],
        op=[r.get("op", -1) for r in rows],
        bytes=[r.get("bytes", -1) for r in rows],
        collective=[r.get("collective") for r in rows],
        blocks_per_sm=[r.get("blocks_per_sm", float("nan")) for r in rows],
    )


def launches(*rows: dict[str, Any]) -> Table:
    """Rows of `launches`: start, end in µs."""
    return build.table(
        "launches",
        len(rows),
        launch=range(len(rows)),
        thread=[r.get("thread", 0) for r in rows],
        start_ns=[int(r["start"] * 1000) for r in rows],
        end_ns=[int(r["end"] * 1000) for r in rows],
        name=[r.get("name", "cudaLaunchKernel") for r in rows],
        kind=[r.get("kind", "launch") for r in rows],
        api=[r.get("api", "runtime") for r in rows],
        op=[r.get("op", -1) for r in rows],
    )


def ops(*rows: dict[str, Any]) -> Table:
    """Rows of `ops`: start, end in µs."""
    return build.table(
        "ops",
        len(rows),
        op=range(len(rows)),
        thread=[r.get("thread", 0) for r in rows],
        start_ns=[int(r["start"] * 1000) for r in rows],
        end_ns=[int(r["end"] * 1000) for r in rows],
        parent=[r.get("parent", -1) for r in rows],
        name=[r.get("name", "aten::mm") for r in rows],
        kind=[r.get("kind", "op") for r in rows],
        shapes=[r.get("shapes") for r in rows],
        dtypes=[r.get("dtypes") for r in rows],
        file=[r.get("file") for r in rows],
        line=[r.get("line", -1) for r in rows],
    )


def memory(*rows: dict[str, Any]) -> Table:
    """Rows of `memory`: time in µs."""
    return build.table(
        "memory",
        len(rows),
        time_ns=[int(r["time"] * 1000) for r in rows],
        thread=[0] * len(rows),
        device=[r.get("device", "cuda:0") for r in rows],
        address=[r.get("address", -1) for r in rows],
        bytes=[r["bytes"] for r in rows],
        allocated_bytes=[r.get("allocated", -1) for r in rows],
        reserved_bytes=[r.get("reserved", -1) for r in rows],
        op=[r.get("op", -1) for r in rows],
    )
