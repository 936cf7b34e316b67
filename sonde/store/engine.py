"""DuckDB, locked: the only place where a connection is made.

A connection reads the descriptors it is given, or writes into the one folder it is given, and touches no
other file; it loads no extension, keeps no secrets, and what it may use of memory and processors is
bounded. None of that can be changed by a statement afterwards.

DuckDB is imported when the first connection is made: it takes longer than all of Sonde, and a trace needs none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MAX_THREADS = 8
MEMORY_SHARE = 0.6  # of the machine's; the rest is for what Python makes of the answer


def connect(read: Sequence[int] = (), write: int | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that may read these descriptors, and write into the folder `write` is open on."""
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "temp_directory": "",
            "memory_limit": f"{memory_bytes() >> 10}KiB",
            "threads": min(MAX_THREADS, len(os.sched_getaffinity(0))),
        },
    )
    # Every path in these statements is /proc/self/fd/ and a number.
    if read:
        connection.execute(f"SET allowed_paths = {paths(read)!r}")
    if write is not None:
        connection.execute(f"SET allowed_directories = {[f'/proc/self/fd/{write:d}/']!r}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def paths(descriptors: Sequence[int]) -> list[str]:
    """How DuckDB opens files that are open already: whatever they are called, and wherever they lie."""
    return [f"/proc/self/fd/{descriptor:d}" for descriptor in descriptors]


def parquet(connection: duckdb.DuckDBPyConnection, descriptors: Sequence[int]) -> duckdb.DuckDBPyRelation:
    """The rows of these Parquet files; a column that one of them lacks is null there."""
    return connection.read_parquet(paths(descriptors), union_by_name=True)


def memory_bytes() -> int:
    """What one connection may use."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
