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
    profile.refuse_endless()
    frames, number_of = _frames(profile)
    document = {
        "$schema": SCHEMA,
        "exporter": f"sonde {__version__}",
        "name": recording.meta.program or "sonde",
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
    }
    head = json.dumps(document, ensure_ascii=False)
    stream.write(head[:-1].encode("utf-8", "replace") + b', "profiles": [')
    separator = b"\n"
    for thread in np.unique(profile.thread).tolist():
        stream.write(separator)
        _thread(profile, number_of, thread, thread_name(recording, thread), stream)
        separator = b",\n"
    stream.write(b"\n]}\n")


def thread_name(recording: Recording, thread: int) -> str:
    """`main 4242`, `omp 4250`: kind and id, which is what people look for."""
    threads = recording.table("threads")
    rows = np.flatnonzero(threads.array("thread") == thread)
    if len(rows) == 0:
        return f"thread {thread}"
    name = threads.text("name")[int(rows[0])] or threads.text("kind")[int(rows[0])] or "thread"
    return f"{name} {threads.array('tid')[rows[0]]}"


def _frames(profile: StackProfile) -> tuple[list[dict[str, Any]], list[int]]:
    """Frames that read differently, and the number among them of each row."""
    files, lines = profile.frames.text("file").tolist(), profile.frames.array("line").tolist()
    frames: dict[tuple[str, str | None, int], int] = {}
    number_of = [
        frames.setdefault((label, file or None, max(line, 0)), len(frames))
        for label, file, line in zip(profile.labels, files, lines, strict=True)
    ]
    written = []
    for label, file, line in frames:
        frame: dict[str, Any] = {"name": label}
        if file:
            frame["file"] = file
        if line:
            frame["line"] = line
        written.append(frame)
    return written, number_of


def _thread(profile: StackProfile, number_of: list[int], thread: int, name: str, stream: BinaryIO) -> None:
    """Each stack is written out as often as it was sampled, but held only once, as text."""
    rows = np.flatnonzero(profile.thread == thread)
    rows = rows[np.argsort(profile.time_ns[rows], kind="stable")]
    weights = profile.weight_ns[rows].tolist()
    head = {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "weights": weights,
    }
    stream.write(json.dumps(head, ensure_ascii=False)[:-1].encode("utf-8", "replace") + b', "samples": [')
    texts: dict[int, bytes] = {}
    separator = b""
    for node in profile.stack[rows].tolist():
        text = texts.get(node)
        if text is None:
            text = texts[node] = json.dumps([number_of[f] for f in profile.path(node)]).encode()
        stream.write(separator + text)
        separator = b", "
    stream.write(b"]}")
