"""Firefox Profiler: the processed profile format, opened by profiler.firefox.com and samply's viewer.

One flat list of threads. Each holds its samples (stack, time, weight, CPU time since
the sample before), its operator calls as interval markers, and the part of the stack
tree that it uses; streams of a device are threads with markers alone. Steps, epochs
and windows are markers of the main thread. Strings are shared.

The version is the newest whose types were public in firefox-devtools/profiler when
this was written; the viewer upgrades older versions by itself. Times are milliseconds
since the first moment of the recording, with all their nanosecond digits.
"""

from __future__ import annotations

import json
import platform
from typing import Any, BinaryIO

import numpy as np

from sonde.columns import Interner, Table
from sonde.export.firefox_stacks import CATEGORIES, DEVICE, MARKS, OPERATORS, ThreadStacks
from sonde.export.profile import I64, StackProfile, profile_of
from sonde.export.speedscope import thread_name
from sonde.store.recording import Recording
from sonde.version import __version__

PROCESSED_VERSION, GECKO_VERSION = 58, 31
INTERVAL = 1  # a marker with a start and an end
NO_SAMPLES: I64 = np.zeros(0, np.int64)


def write(recording: Recording, stream: BinaryIO) -> None:
    writer = _Writer(recording)
    threads = writer.threads()
    document = {
        "meta": writer.meta(),
        "libs": writer.libraries(),
        "pages": [],
        "counters": writer.counters(),
        "shared": {"sources": writer.sources(), "stringArray": writer.strings.values},
    }
    head = json.dumps(document, ensure_ascii=False)
    stream.write(head[:-1].encode("utf-8", "replace") + b', "threads": [')
    separator = b"\n"
    for thread in threads:
        stream.write(separator + json.dumps(thread).encode())
        separator = b",\n"
    stream.write(b"\n]}\n")


class _Writer:
    """What threads share: strings, sources, libraries, and the moment that is zero."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.profile: StackProfile = profile_of(recording)
        self.strings = Interner()
        self.stacks = ThreadStacks(self.profile, self.strings)
        self.base_ns = _first_moment(recording, self.profile)

    def ms(self, time_ns: int) -> float:
        return (time_ns - self.base_ns) / 1e6

    def meta(self) -> dict[str, Any]:
        meta = self.recording.meta
        rate = meta.options.get("rate_hz")
        return {
            "version": GECKO_VERSION,
            "preprocessedProfileVersion": PROCESSED_VERSION,
            "interval": 1000 / rate if isinstance(rate, (int, float)) and rate > 0 else 1,
            "startTime": (meta.clock.epoch_offset_start_ns + self.base_ns) / 1e6,
            "startTimeAsClockMonotonicNanosecondsSinceBoot": self.base_ns,
            "processType": 0,
            "product": meta.program or "sonde",
            "importedFrom": f"sonde {__version__}",
            "stackwalk": 1,
            "debug": False,
            "symbolicated": True,
            "symbolicationNotSupported": True,
            "usesOnlyOneStackType": True,
            "sourceCodeIsNotOnSearchfox": True,
            "keepProfileThreadOrder": True,
            "platform": "X11",
            "oscpu": f"Linux {platform.machine()}",
            "categories": CATEGORIES,
            "markerSchema": SCHEMAS,
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        }

    def threads(self) -> list[dict[str, Any]]:
        threads, processes = self.recording.table("threads"), self.recording.table("processes")
        made = []
        rows = list(range(len(threads)))
        # The main thread of each process comes first: viewers select it.
        rows.sort(key=lambda r: (int(threads.array("process")[r]), threads.text("kind")[r] != "main"))
        seen_processes: set[int] = set()
        for row in rows:
            process = int(threads.array("process")[row])
            first = process not in seen_processes
            seen_processes.add(process)
            made.append(self._thread(threads, row, _process(processes, process), first))
        return made + self._streams()

    def _thread(self, threads: Table, row: int, process: dict[str, Any], first: bool) -> dict[str, Any]:
        number = int(threads.array("thread")[row])
        markers = _Markers()
        if first:
            self._marks(markers, int(threads.array("process")[row]))
        self._operators(markers, number)
        mine = np.flatnonzero(self.profile.thread == number)
        mine = mine[np.argsort(self.profile.time_ns[mine], kind="stable")]
        return {
            **process,
            "name": thread_name(self.recording, number),
            "isMainThread": first,
            "tid": int(threads.array("tid")[row]),
            **self._times(int(threads.array("start_ns")[row]), int(threads.array("end_ns")[row])),
            **self.stacks.tables(mine, self.ms),
            "markers": markers.table(),
        }

    def _times(self, start_ns: int, end_ns: int) -> dict[str, Any]:
        return {
            "processStartupTime": 0,
            "processShutdownTime": None,
            "registerTime": self.ms(start_ns) if start_ns >= 0 else 0,
            "unregisterTime": self.ms(end_ns) if end_ns > 0 else None,
            "pausedRanges": [],
        }

    def _marks(self, markers: _Markers, process: int) -> None:
        marks = self.recording.table("marks")
        marks = marks.take(marks.array("process") == process)
        columns = [marks.array(c).tolist() for c in ("start_ns", "end_ns", "number")]
        texts = [marks.text(c).tolist() for c in ("kind", "name")]
        for start, end, number, kind, name in zip(*columns, *texts, strict=True):
            title = f"{kind} {number}" if number >= 0 else kind or "mark"
            data = {"type": "Mark", "name": name or ""}
            markers.add(self.strings(title), self.ms(start), self.ms(end), MARKS, data)

    def _operators(self, markers: _Markers, thread: int) -> None:
        ops = self.recording.table("ops")
        ops = ops.take(ops.array("thread") == thread)
        columns = [ops.array(c).tolist() for c in ("start_ns", "end_ns")]
        texts = [ops.text(c).tolist() for c in ("name", "kind", "shapes", "module")]
        for start, end, name, kind, shapes, module in zip(*columns, *texts, strict=True):
            data = {"type": "Operator", "kind": kind or "op"}
            data.update({k: v for k, v in (("shapes", shapes), ("module", module)) if v})
            markers.add(self.strings(name or "?"), self.ms(start), self.ms(end), OPERATORS, data)

    def _streams(self) -> list[dict[str, Any]]:
        """A thread for every stream of a device."""
        kernels = self.recording.table("kernels")
        pairs = np.unique(np.stack([kernels.array("device"), kernels.array("stream")], axis=1), axis=0)
        made = []
        for device, queue in pairs.tolist():
            rows = kernels.take((kernels.array("device") == device) & (kernels.array("stream") == queue))
            rows = rows.take(np.argsort(rows.array("start_ns"), kind="stable"))
            markers = _Markers()
            columns = [rows.array(c).tolist() for c in ("start_ns", "end_ns")]
            for start, end, name, kind in zip(
                *columns, rows.text("name").tolist(), rows.text("kind").tolist(), strict=True
            ):
                data = {"type": "Device", "kind": kind or "kernel"}
                markers.add(self.strings(name or "?"), self.ms(start), self.ms(end), DEVICE, data)
            made.append(
                {
                    "processType": "gpu",
                    "processName": f"GPU {device}",
                    "pid": f"gpu-{device}",
                    "name": f"GPU {device} stream {queue}",
                    "isMainThread": False,
                    "tid": f"gpu-{device}-{queue}",
                    "showMarkersInTimeline": True,
                    **self._times(-1, -1),
                    **self.stacks.tables(NO_SAMPLES, self.ms),
                    "markers": markers.table(),
                }
            )
        return made

    def counters(self) -> list[dict[str, Any]]:
        """Resident memory per process; the viewer adds up differences."""
        counters, processes = self.recording.table("counters"), self.recording.table("processes")
        rss = counters.take(counters.text("name").equals("rss_bytes"))
        order = [int(p) for p in self.recording.table("threads").array("process")]
        made = []
        for process in np.unique(rss.array("process")).tolist():
            rows = rss.take(rss.array("process") == process)
            rows = rows.take(np.argsort(rows.array("time_ns"), kind="stable"))
            values = np.rint(rows.array("value")).astype(np.int64)
            if process not in order or len(values) == 0:
                continue
            made.append(
                {
                    "name": "rss",
                    "category": "Memory",
                    "description": "Resident memory of the process",
                    "pid": _process(processes, process)["pid"],
                    "mainThreadIndex": sorted(order).index(process),
                    "samples": {
                        "time": [self.ms(t) for t in rows.array("time_ns").tolist()],
                        "count": np.diff(values, prepend=0).tolist(),
                        "length": len(values),
                    },
                }
            )
        return made

    def libraries(self) -> list[dict[str, Any]]:
        return [
            {
                "arch": platform.machine(),
                "name": name,
                "path": name,
                "debugName": name,
                "debugPath": name,
                "breakpadId": "",
                "codeId": None,
            }
            for name in self.stacks.libraries.values
        ]

    def sources(self) -> dict[str, Any]:
        files = self.stacks.files.values
        return {
            "length": len(files),
            "uuid": [None] * len(files),
            "filename": [self.strings(file) for file in files],
        }


class _Markers:
    """A table of interval markers, by columns."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, float, float, int, dict[str, Any]]] = []

    def add(self, name: int, start_ms: float, end_ms: float, category: int, data: dict[str, Any]) -> None:
        self.rows.append((name, start_ms, end_ms, category, data))

    def table(self) -> dict[str, Any]:
        return {
            "name": [r[0] for r in self.rows],
            "startTime": [r[1] for r in self.rows],
            "endTime": [r[2] for r in self.rows],
            "phase": [INTERVAL] * len(self.rows),
            "category": [r[3] for r in self.rows],
            "data": [r[4] for r in self.rows],
            "length": len(self.rows),
        }


def _schema(name: str, places: list[str], fields: dict[str, str], stacked: bool) -> dict[str, Any]:
    return {
        "name": name,
        "display": places,
        "chartLabel": "{marker.name}",
        "tooltipLabel": "{marker.name}",
        "tableLabel": "{marker.name}",
        "isStackBased": stacked,
        "fields": [{"key": key, "label": label, "format": "string"} for key, label in fields.items()],
    }


SCHEMAS = [
    _schema("Mark", ["marker-chart", "marker-table", "timeline-overview"], {"name": "Name"}, False),
    _schema(
        "Operator",
        ["marker-chart", "marker-table"],
        {"kind": "Kind", "shapes": "Shapes", "module": "Module"},
        True,
    ),
    _schema("Device", ["marker-chart", "marker-table", "timeline-overview"], {"kind": "Kind"}, False),
]


def _process(processes: Table, process: int) -> dict[str, Any]:
    rows = np.flatnonzero(processes.array("process") == process)
    if len(rows) == 0:
        return {"processType": "default", "processName": f"process {process}", "pid": str(process)}
    row = int(rows[0])
    command = processes.text("command")[row] or "program"
    return {
        "processType": "default",
        "processName": command,
        "pid": str(int(processes.array("pid")[row])),
    }


def _first_moment(recording: Recording, profile: StackProfile) -> int:
    columns = [profile.time_ns]
    columns += [recording.table(t).array("start_ns") for t in ("ops", "kernels", "marks", "processes")]
    known = [int(c[c >= 0].min()) for c in columns if (c >= 0).any()]
    return min(known, default=0)
