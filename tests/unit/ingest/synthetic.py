"""Small traces made in a test, as the bytes of a file, and read back."""

from __future__ import annotations

import json
from typing import Any

from sonde.ingest.kineto import reader as kineto
from sonde.ingest.kineto.trace_library import NativeTrace
from sonde.store.recording import Recording


def event(category: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any) -> dict[str, Any]:
    """A complete event of process 1 (or of device 0 when `stream` is among the arguments)."""
    place = {"pid": 0, "tid": args["stream"]} if "stream" in args else {"pid": 1, "tid": tid}
    return {"ph": "X", "cat": category, "name": name, **place, "ts": ts, "dur": dur, "args": args}


def read(events: list[dict[str, Any]], **metadata: Any) -> Recording:
    return read_bytes(json.dumps({**metadata, "traceEvents": events}).encode())


def read_bytes(data: bytes) -> Recording:
    with NativeTrace(data) as trace:
        return kineto.recording_of(trace, None)


def losses(recording: Recording) -> dict[str, int]:
    table = recording.table("losses")
    causes = [str(c) for c in table.text("cause").tolist()]
    return dict(zip(causes, table.array("count").tolist(), strict=True))
