"""speedscope's own JSON: one sampled profile per thread, shared frames, nanoseconds."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import numpy as np

from sonde.export.profile import StackProfile, profile_of
from sonde.store.recording import Recording
from sonde.version import __version__

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(recording: Recording, stream: BinaryIO) -> None:
    profile = profile_of(recording)
    document = {
        "$schema": SCHEMA,
        "exporter": f"sonde {__version__}",
        "name": recording.meta.program or "sonde",
        "activeProfileIndex": 0,
        "shared": {"frames": _frames(profile)},
        "profiles": [
            _thread(profile, int(t), thread_name(recording, int(t))) for t in np.unique(profile.thread)
        ],
    }
    stream.write(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))


def thread_name(recording: Recording, thread: int) -> str:
    """`main 4242`, `omp 4250`: kind and id, which is what people look for."""
    threads = recording.table("threads")
    rows = np.flatnonzero(threads.array("thread") == thread)
    if len(rows) == 0:
        return f"thread {thread}"
    name = threads.text("name")[int(rows[0])] or threads.text("kind")[int(rows[0])] or "thread"
    return f"{name} {threads.array('tid')[rows[0]]}"


def _frames(profile: StackProfile) -> list[dict[str, Any]]:
    files, lines = profile.frames.text("file").tolist(), profile.frames.array("line").tolist()
    frames: list[dict[str, Any]] = []
    for label, file, line in zip(profile.labels, files, lines, strict=True):
        frame: dict[str, Any] = {"name": label}
        if file:
            frame["file"] = file
        if line > 0:
            frame["line"] = line
        frames.append(frame)
    return frames


def _thread(profile: StackProfile, thread: int, name: str) -> dict[str, Any]:
    rows = np.flatnonzero(profile.thread == thread)
    rows = rows[np.argsort(profile.time_ns[rows], kind="stable")]
    paths: dict[int, list[int]] = {}
    stacks = []
    for node in profile.stack[rows].tolist():
        if node not in paths:
            paths[node] = profile.path(node)
        stacks.append(paths[node])
    weights = profile.weight_ns[rows].tolist()
    return {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": stacks,
        "weights": weights,
    }
