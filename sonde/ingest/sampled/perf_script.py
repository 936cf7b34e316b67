"""Text of `perf script` → frames, stacks and samples.

A sample is a header line (`comm pid/tid [cpu] seconds: period event:`), the
frames below it leaf first (`address symbol+0xoffset (library)`), and an empty
line. The weight is the period for clock events, whose unit is nanoseconds;
for other events it is the time to the thread's next sample.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path

from sonde.errors import InputError
from sonde.ingest.sampled.stack_samples import FrameKey, StackSamples, frame_of
from sonde.ingest.text_lines import lines_of
from sonde.store.recording import Recording

# Every repetition is bounded: unbounded ones side by side take time by the square of the line.
_HEADER = re.compile(
    r"(?P<comm>\S.{0,100}?)\s{1,100}(?P<pid>-?\d{1,9})(/(?P<tid>-?\d{1,18}))?\s{1,100}(\[(?P<cpu>\d{1,9})\]\s{1,100})?"
    r"(?P<seconds>\d{1,9})\.(?P<fraction>\d{1,20}):\s{1,100}((?P<period>\d{1,18})\s{1,100})?"
    r"(?P<event>[\w\-:/,.]{1,200}?):"
)
_OFFSET = re.compile(r"\+0x[0-9a-f]{1,16}$")
_ADDRESS = re.compile(r"[0-9a-f]{1,16}")
_CLOCKS = ("cpu-clock", "task-clock")


@dataclass
class _Pending:
    thread: int
    time_ns: int
    period: int
    event: str
    frames: list[FrameKey] = field(default_factory=list)


def sniff(head: bytes) -> bool:
    """A header line followed by a frame or an empty line."""
    lines = [x for x in head.decode("utf-8", "replace").splitlines()[:200] if not x.startswith("#")]
    return any(_HEADER.match(a) and (not b.strip() or _frame_of(b)) for a, b in itertools.pairwise(lines))


def read(path: Path) -> Recording:
    """The samples of all threads, with their times."""
    samples = StackSamples()
    done: list[_Pending] = []
    now: _Pending | None = None
    events: dict[str, int] = {}
    for number, line in enumerate(lines_of(path), 1):
        if line.startswith("#"):
            continue
        header = _HEADER.match(line)
        if header:
            pid = int(header["pid"])
            tid = int(header["tid"]) if header["tid"] else pid
            nanoseconds = int(header["seconds"]) * 10**9 + int(header["fraction"][:9].ljust(9, "0"))
            thread = samples.thread_of(pid if header["tid"] else -1, tid, header["comm"])
            event = header["event"].split(":")[0]
            events[event] = events.get(event, 0) + 1
            now = _Pending(thread, nanoseconds, int(header["period"] or 0), event)
            done.append(now)
        elif not line.strip():
            now = None
        elif now is not None and (frame := _frame_of(line)):
            now.frames.append(frame)
        else:
            samples.lose("bad_line", "events", f"line {number} is neither sample nor frame: {line[:80]!r}")
    if not done:
        raise InputError(f"{path} has no sample of perf script", "write it with: perf script > FILE")
    for sample, weight in zip(done, _weights(done), strict=True):
        samples.add(sample.thread, sample.frames[::-1], weight, sample.time_ns)
    return samples.recording("perf", path, {"events": events})


def _frame_of(line: str) -> FrameKey | None:
    """A line `    address symbol+0xoffset (library)`; None when it is none."""
    address, _, rest = line.strip().partition(" ")
    rest = rest.replace(" (deleted))", ")") if rest.endswith(" (deleted))") else rest
    at = rest.rfind(" (")
    if not line[:1].isspace() or at < 0 or not rest.endswith(")") or not _ADDRESS.fullmatch(address):
        return None
    symbol, library = _OFFSET.sub("", rest[:at].strip()), rest[at + 2 : -1]
    return _frame(symbol, library, int(address, 16)) if symbol and ")" not in library else None


def _frame(symbol: str, library: str, address: int) -> FrameKey:
    if library in ("[kernel.kallsyms]", "[guest.kernel.kallsyms]") or library.endswith(".ko"):
        return FrameKey("kernel", symbol, library=library)
    if symbol == "[unknown]":
        signed = address - (1 << 64) if address >> 63 else address  # as an int64 holds it
        return FrameKey("native", f"0x{address:x}", library=library, address=signed)
    key = frame_of(symbol)
    return FrameKey(key.layer, key.name, key.file, key.line, library)


def _weights(samples: list[_Pending]) -> list[int]:
    """Nanoseconds that each sample stands for."""
    typical: dict[int, list[int]] = {}
    following: dict[int, int] = {}
    gaps = [0] * len(samples)
    for i in range(len(samples) - 1, -1, -1):
        thread = samples[i].thread
        if thread in following:
            gaps[i] = max(0, following[thread] - samples[i].time_ns)
            typical.setdefault(thread, []).append(gaps[i])
        following[thread] = samples[i].time_ns
    # A thread that slept has a long gap that no sample stands for: the median bounds it.
    medians = {thread: sorted(found)[len(found) // 2] for thread, found in typical.items()}
    weights = []
    for sample, gap in zip(samples, gaps, strict=True):
        if sample.period and any(sample.event.startswith(c) for c in _CLOCKS):
            weights.append(sample.period)
            continue
        median = medians.get(sample.thread, 0)
        weights.append(min(gap or median, 2 * median))
    return weights
