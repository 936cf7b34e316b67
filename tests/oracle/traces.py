"""Where the real traces are, and their plain-Python recordings, read once per test run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from sonde.store.recording import Recording
from tests.environments import data_file
from tests.oracle import kineto_plain


def trace(name: str) -> Path:
    """A trace by its path below traces/."""
    return data_file(f"traces/{name}")


@lru_cache(maxsize=40)
def _plain(path: Path) -> Recording:
    return kineto_plain.read(path)


def plain(name: str) -> Recording:
    """The recording of a trace as the oracle reads it."""
    return _plain(trace(name))


MEGATRON = [f"multirank/megatron_tp8/megatron_kineto_{r}.json.gz" for r in range(8)]
