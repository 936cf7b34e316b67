"""DuckDB, locked: the only place where a connection is made.

A connection reads the descriptors it is given, or writes into the one folder it is given, and touches no
other file; it loads no extension, keeps no secrets, and what it may use of memory and processors is
bounded. None of that can be changed by a statement afterwards.

Tables are loaded over one connection (`reading`): to make one takes 12 ms of CPU, to load a small table 3.

DuckDB is imported when the first connection is made: it takes longer than all of Sonde, and a trace needs none.
"""

from __future__ import annotations

import contextlib
import os
from _thread import allocate_lock  # `threading` takes longer to import than a trace may wait
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sonde.store.slots import Slots

if TYPE_CHECKING:
    import duckdb

MAX_THREADS = 8
MEMORY_SHARE = 0.6  # of the machine's; the rest is for what Python makes of the answer
SLOTS = 16
KEPT_BYTES = 16 << 20  # of files: larger ones have a connection of their own, and their memory goes with it


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
    with contextlib.suppress(duckdb.CatalogException):  # DuckDB before 1.3 has none
        connection.execute("SET enable_external_file_cache = false")  # a slot holds another file each time
    # Every path in these statements is /proc/self/fd/ and a number.
    if read:
        connection.execute(f"SET allowed_paths = {paths(read)!r}")
    if write is not None:
        connection.execute(f"SET allowed_directories = {[f'/proc/self/fd/{write:d}/']!r}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


class _Kept:
    """A connection that reads what lies at its slots."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.slots = Slots(SLOTS)
        try:
            self.connection = connect(self.slots.numbers)
        except BaseException:
            self.slots.close()
            raise

    def close(self) -> None:
        self.connection.close()
        self.slots.close()


_lock = allocate_lock()
_kept: list[_Kept] = []  # at most one of this process, behind those of the processes that it was forked from


def _renew_lock() -> None:
    """In a forked child: another thread of the parent may have held it."""
    global _lock
    _lock = allocate_lock()


os.register_at_fork(after_in_child=_renew_lock)


@contextmanager
def reading(descriptors: Sequence[int]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the view `source` of these Parquet files; what is made in it is gone afterwards."""
    size_bytes = sum(os.fstat(descriptor).st_size for descriptor in descriptors)
    if len(descriptors) > SLOTS or size_bytes > KEPT_BYTES or not hasattr(os, "memfd_create"):  # glibc < 2.27
        with connect(descriptors) as connection:
            parquet(connection, descriptors).create_view("source")
            yield connection
        return
    with _lock:
        kept = _of_this_process()
        try:
            with kept.slots.holding(descriptors) as slots:
                kept.connection.begin()
                parquet(kept.connection, slots).create_view("source")
                yield kept.connection
                kept.connection.rollback()
        except BaseException:
            _kept.remove(kept)
            kept.close()
            raise


def _of_this_process() -> _Kept:
    """A parent's connection has threads that are not in this process: it can be neither used nor closed here."""
    if not _kept or _kept[-1].pid != os.getpid():
        _kept.append(_Kept())
    return _kept[-1]


def paths(descriptors: Sequence[int]) -> list[str]:
    """How DuckDB opens files that are open already: whatever they are called, and wherever they lie."""
    return [f"/proc/self/fd/{descriptor:d}" for descriptor in descriptors]


def parquet(connection: duckdb.DuckDBPyConnection, descriptors: Sequence[int]) -> duckdb.DuckDBPyRelation:
    """The rows of these Parquet files; a column that one of them lacks is null there."""
    return connection.read_parquet(paths(descriptors), union_by_name=True)


def memory_bytes() -> int:
    """What one connection may use."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
