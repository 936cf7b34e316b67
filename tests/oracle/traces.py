"""Where the real traces are, and their plain-Python recordings, read once per test run."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import pytest

from sonde.store.recording import Recording
from tests.oracle import kineto_plain


def data_folder() -> Path | None:
    """The shared data: $SONDE_DATA, or `shared/data` beside the checkout or above it."""
    told = os.environ.get("SONDE_DATA")
    if told:
        return Path(told)
    for folder in Path(__file__).resolve().parents:
        if (folder / "shared" / "data").is_dir():
            return folder / "shared" / "data"
    return None


def trace(name: str) -> Path:
    """A trace by its path below data/traces; skips the test where the data is absent."""
    folder = data_folder()
    if folder is None or not (folder / "traces" / name).exists():
        pytest.skip(
            f"the trace {name} is not on this machine (set SONDE_DATA to the folder that holds traces/)"
        )
    return folder / "traces" / name


@lru_cache(maxsize=40)
def _plain(path: Path) -> Recording:
    return kineto_plain.read(path)


def plain(name: str) -> Recording:
    """The recording of a trace as the oracle reads it."""
    return _plain(trace(name))


MEGATRON = [f"multirank/megatron_tp8/megatron_kineto_{r}.json.gz" for r in range(8)]
