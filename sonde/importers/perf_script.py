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
from sonde.importers.stack_samples import FrameKey, StackSamples, frame_of
from sonde.importers.text_lines import lines_of
from sonde.store.recording import Recording

_HEADER = re.compile(
    r"^(?P<comm>\S.*?)\s+(?P<pid>-?\d+)(/(?P<tid>-?\d+))?\s+(\[(?P<cpu>\d+)\]\s+)?"
    r"(?P<seconds>\d+)\.(?P<fraction>\d+):\s+((?P<period>\d+)\s+)?(?P<event>[\w\-:/,.]+?):"
)
_FRAME = re.compile(
    r"^\s+(?P<address>[0-9a-f]+)\s+(?P<symbol>.+?)(\+0x[0-9a-f]+)?\s+\((?P<library>[^()]*|\(deleted\))\)\s*$"
)
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
    return any(_HEADER.match(a) and (not b.strip() or _FRAME.match(b)) for a, b in itertools.pairwise(lines))


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
        elif now is not None and (frame := _FRAME.match(line)):
            now.frames.append(_frame(frame["symbol"], frame["library"], int(frame["address"], 16)))
        else:
            samples.lose("bad_line", "events", f"line {number} is neither sample nor frame: {line[:80]!r}")
    if not done:
        raise InputError(f"{path} has no sample of perf script", "write it with: perf script > FILE")
    for sample, weight in zip(done, _weights(done), strict=True):
        samples.add(sample.thread, sample.frames[::-1], weight, sample.time_ns)
    return samples.recording("perf", path, {"events": events})


def _frame(symbol: str, library: str, address: int) -> FrameKey:
    if library in ("[kernel.kallsyms]", "[guest.kernel.kallsyms]") or library.endswith(".ko"):
        return FrameKey("kernel", symbol, library=library)
    if symbol == "[unknown]":
        return FrameKey("native", f"0x{address:x}", library=library, address=address)
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
    weights = []
    for sample, gap in zip(samples, gaps, strict=True):
        if sample.period and any(sample.event.startswith(c) for c in _CLOCKS):
            weights.append(sample.period)
            continue
        usual = sorted(typical.get(sample.thread, [0]))
        # A thread that slept has a long gap that no sample stands for: the median bounds it.
        median = usual[len(usual) // 2]
        weights.append(min(gap or median, 2 * median))
    return weights
