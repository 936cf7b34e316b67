"""Inputs that real programs wrote (../shared/data, or SONDE_DATA), cut down to a size that is quick to mutate.

Empty lists where the data is not there: the made seeds are always enough to run.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.environments import data_folder

DATA = data_folder() or Path("no data here")
LARGEST_FILE, LARGEST_SEED, MOST = 60_000, 12_000, 30


@cache
def traces(folder: str) -> list[bytes]:
    """Chrome traces with one or two events of each phase and category."""
    found = []
    for path in _files(folder, "*.json*"):
        try:
            document: Any = json.loads(_plain(path))
        except (ValueError, OSError, EOFError):
            continue  # the malformed ones are for the native fuzzer
        kept = _few(
            document["traceEvents"] if isinstance(document, dict) and "traceEvents" in document else document
        )
        if not kept:
            continue
        facts = (
            {k: v for k, v in document.items() if len(json.dumps(v)) < 600}
            if isinstance(document, dict)
            else {}
        )
        text = json.dumps({**facts, "traceEvents": kept} if facts else kept).encode()
        if len(text) < LARGEST_SEED:
            found.append(text)
    return found[:MOST]


@cache
def lines(folder: str, pattern: str) -> list[bytes]:
    """The first and some later lines of text files."""
    found = []
    for path in _files(folder, pattern):
        rows = _plain(path).splitlines(keepends=True)
        rng = random.Random(len(rows))
        later = sorted(rng.sample(range(len(rows)), min(12, len(rows))))
        found.append(b"".join(rows[:12] + [rows[i] for i in later if i >= 12]))
    return found[:MOST]


@cache
def whole(folder: str, pattern: str) -> list[bytes]:
    """Files as they are, if they are small."""
    return [data for path in _files(folder, pattern) if len(data := _plain(path)) < LARGEST_SEED][:MOST]


def _files(folder: str, pattern: str) -> list[Path]:
    return [p for p in sorted((DATA / folder).rglob(pattern)) if 0 < p.stat().st_size < 4 * LARGEST_FILE]


def _plain(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def _few(events: Any) -> list[Any]:
    if not isinstance(events, list):
        return []
    kinds: dict[tuple[str, str], list[Any]] = {}
    for event in events:
        if isinstance(event, dict):
            kinds.setdefault((str(event.get("ph")), str(event.get("cat"))), []).append(event)
    rng = random.Random(len(events))
    return [e for same in kinds.values() for e in rng.sample(same, min(2, len(same)))][:24]


if __name__ == "__main__":  # into a folder, for the native fuzzers
    for number, trace in enumerate(traces("traces")):
        Path(sys.argv[1], f"real-{number}.json").write_bytes(trace)
