"""speedscope JSON (sampled and evented profiles) → frames, stacks and samples.

Each profile of the file becomes a thread. An evented profile has no samples:
every stretch between two events is one, with the stack that was open then.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sonde.errors import InputError
from sonde.ingest.plain_bytes import read_whole
from sonde.ingest.sampled.stack_samples import FrameKey, StackSamples, frame_of
from sonde.store.recording import Recording

_UNIT_NS = {"nanoseconds": 1.0, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}
_SAMPLE_NS = 10_000_000.0  # for unit "none": a count of samples
_NAME_AND_ID = re.compile(r"^(?P<name>.*) (?P<id>-?\d{1,18})$", re.DOTALL)  # how Sonde names a thread


def sniff(head: bytes) -> bool:
    """The schema's address, or the two keys that every file has."""
    return b"speedscope.app/file-format-schema.json" in head or (
        head.lstrip()[:1] == b"{" and b'"profiles"' in head and b'"shared"' in head
    )


def read(path: Path) -> Recording:
    """All profiles of the file."""
    document = _load(path)
    try:
        shared = [_frame(f) for f in document["shared"]["frames"]]
        profiles = list(document["profiles"])
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is not a speedscope file: it has no shared.frames and profiles") from None
    samples = StackSamples()
    for key in shared:
        samples.frame(key)
    ours = str(document.get("exporter", "")).startswith("sonde")
    units = set()
    for number, profile in enumerate(profiles):
        try:
            units.add(str(profile["unit"]))
            scale = _UNIT_NS.get(profile["unit"], _SAMPLE_NS)
            name, tid = str(profile.get("name") or f"profile {number}"), number
            if ours and (found := _NAME_AND_ID.match(name)):
                name, tid = found["name"], int(found["id"])
            thread = samples.thread_of(-1, tid, name)
            if profile["type"] == "sampled":
                _sampled(samples, thread, profile, shared, scale)
            else:
                _evented(samples, thread, profile, shared, scale)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            samples.lose(
                "bad_profile", "events", f"profile {number} cannot be read to its end: {error!r:.200}"
            )
    title = document.get("name")
    program = title if ours and isinstance(title, str) else path.name
    return samples.recording("speedscope", path, {"units": sorted(units), "name": title}, program)


def _load(path: Path) -> dict[str, Any]:
    data = read_whole(path)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as speedscope JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError(f"{path} is not a speedscope file: it is a JSON {type(document).__name__}")
    return document


def _frame(frame: dict[str, Any]) -> FrameKey:
    key = frame_of(str(frame["name"]))
    file = frame.get("file")
    line = frame.get("line")
    line = line if isinstance(line, int) and 0 < line < 2**31 else -1
    if not isinstance(file, str):
        return key
    if key.file is None:
        layer = "python" if key.layer == "native" and file.endswith((".py", ".pyx")) else key.layer
        return FrameKey(layer, key.name, file, line)
    # The name holds the last part of the path; the frame holds all of it.
    return FrameKey(key.layer, key.name, file, line) if file.endswith(key.file) else key


def _shared(shared: list[FrameKey], index: object) -> FrameKey:
    """A frame by its number. Python's own indexing would take -1 for the last."""
    if not isinstance(index, int) or not 0 <= index < len(shared):
        raise ValueError(f"there is no frame {index!r:.40}")
    return shared[index]


def _sampled(
    samples: StackSamples, thread: int, profile: dict[str, Any], shared: list[FrameKey], scale: float
) -> None:
    time = float(profile.get("startValue", 0)) * scale
    stacks, weights = profile["samples"], profile["weights"]
    if len(stacks) != len(weights):
        samples.lose(
            "unweighted_sample", "samples", "a sample has no weight", abs(len(stacks) - len(weights))
        )
    for stack, weight in zip(stacks, weights, strict=False):
        samples.add(thread, [_shared(shared, i) for i in stack], round(weight * scale), round(time))
        time += weight * scale


def _evented(
    samples: StackSamples, thread: int, profile: dict[str, Any], shared: list[FrameKey], scale: float
) -> None:
    open_frames: list[int] = []
    nodes = [-1]  # the stack up to each open frame: its frames are not looked up again for every event
    before = float(profile.get("startValue", 0)) * scale
    for event in profile["events"]:
        now = float(event["at"]) * scale
        if open_frames and now > before:
            samples.add_node(thread, nodes[-1], round(now) - round(before), round(before))
        before = now
        if event["type"] == "O":
            nodes.append(samples.node(nodes[-1], _shared(shared, event["frame"])))
            open_frames.append(event["frame"])
        elif open_frames and open_frames[-1] == event["frame"]:
            open_frames.pop()
            nodes.pop()
        else:
            samples.lose(
                "unmatched_close", "events", f"frame {event['frame']} closes but is not the open one"
            )
