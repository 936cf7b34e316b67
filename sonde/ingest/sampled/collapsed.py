"""Collapsed stacks (`root;frame;leaf 12` per line) of flamegraph tools → frames, stacks, samples.

The number is a count of samples or a time in an unknown unit; it is taken as
nanoseconds unless the numbers are small enough to be counts of a sampler (ten
million are a day at 100 Hz), in which case each counts as one sample of 10 ms
and `meta.details` says so.
"""

from __future__ import annotations

import re
from pathlib import Path

from sonde.errors import InputError
from sonde.ingest.sampled.stack_samples import StackSamples, frame_of
from sonde.ingest.text_lines import lines_of
from sonde.store.recording import Recording

COUNT_NS = 10_000_000  # weight of one sample where the file counts samples
_LINE = re.compile(r"^(?P<stack>.*\S)\s+(?P<weight>\d{1,30}(\.\d{1,30})?)\s*$")
_LARGEST_COUNT = 10**7


def sniff(head: bytes) -> bool:
    """Most lines are of the form `a;b;c 12`."""
    lines = [x for x in head.decode("utf-8", "replace").splitlines()[:50] if x.strip()]
    if len(head) > 60_000:
        lines = lines[:-1]
    fits = [x for x in lines if _LINE.match(x)]
    return bool(fits) and len(fits) >= 0.7 * len(lines) and any(";" in x for x in fits)


def read(path: Path) -> Recording:
    """The file as samples of one thread."""
    samples = StackSamples()
    rows: list[tuple[str, float]] = []
    for number, line in enumerate(lines_of(path), 1):
        found = _LINE.match(line)
        if found:
            rows.append((found["stack"], float(found["weight"])))
        elif line.strip():
            samples.lose("bad_line", "events", f"line {number} is not `stack weight`: {line[:80]!r}")
    if not rows:
        raise InputError(f"{path} has no line of the form `frame;frame 12`")
    counts = sum(w for _, w in rows) < _LARGEST_COUNT
    thread = samples.thread_of(-1, -1, "")
    time = 0
    for stack, weight in rows:
        weight_ns = round(weight * COUNT_NS) if counts else round(weight)
        frames = [frame_of(part) for part in stack.split(";") if part]
        samples.add(thread, frames, weight_ns, time)
        time += weight_ns
    unit = "samples of 10 ms" if counts else "nanoseconds"
    return samples.recording("collapsed", path, {"weights": unit, "times": "not in the file"})
