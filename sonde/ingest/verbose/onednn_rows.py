"""What the log reader gathers: one small row per line, one full record per distinct line."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from pathlib import Path

import numpy as np

from sonde.analyze.primitives import cost as primitive_cost
from sonde.analyze.primitives import descriptors
from sonde.analyze.primitives import implementations as kernel_quality
from sonde.columns import Interner, Text
from sonde.ingest.verbose import mkl_log
from sonde.ingest.verbose.onednn_grammar import Call, Remark, split_prefix
from sonde.link import link
from sonde.store import build
from sonde.store.losses import Loss, loss_table
from sonde.store.meta import Clock, Meta
from sonde.store.recording import Recording
from sonde.version import __version__

_KEPT_LINES = 100
_KEPT_REASONS = 1000
# gettimeofday milliseconds in a double: one step is 2**-12 ms.
_CLOCK_STEP_NS = 245

_TEXTS = (
    *("library", "event", "engine", "kind", "implementation", "isa", "quality", "direction"),
    *("layouts", "dtypes", "attributes", "post_ops", "auxiliary", "shape"),
)


class Notes:
    """Everything in the log that is not a row."""

    def __init__(self) -> None:
        self.other_lines = 0  # the program's own output
        self.known_lines = 0
        self.unknown_count = 0
        self.kept: list[str] = []
        self.last_line: str | None = None
        self.headers: list[str] = []
        self.mkl_headers: list[str] = []
        self.diagnostics: Counter[tuple[str, str]] = Counter()
        self.diagnostics_dropped = 0

    def unknown(self, line: bytes) -> None:
        """A line with a marker that fits no known form."""
        self.unknown_count += 1
        self.known_lines += 1
        if len(self.kept) < _KEPT_LINES:
            self.kept.append(line[:1000].decode("utf-8", "replace"))

    def unterminated(self, line: bytes) -> None:
        self.last_line = line[:300].decode("utf-8", "replace")

    def remark(self, remark: Remark) -> None:
        self.known_lines += 1
        if remark.topic == "info":
            if remark.text not in self.headers and len(self.headers) < _KEPT_LINES:
                self.headers.append(remark.text)
            return
        key = (remark.topic, remark.text)
        if key in self.diagnostics or len(self.diagnostics) < _KEPT_REASONS:
            self.diagnostics[key] += 1
        else:
            self.diagnostics_dropped += 1

    def mkl_header(self, text: str) -> None:
        self.known_lines += 1
        if text not in self.mkl_headers and len(self.mkl_headers) < _KEPT_LINES:
            self.mkl_headers.append(text)

    def details(self) -> dict[str, object]:
        """For meta.json."""
        facts: dict[str, object] = {"headers": self.headers, "other_lines": self.other_lines}
        for text in self.headers:
            isa = re.search(r"(?:isa:|Detected ISA is )(.+)", text)
            if isa:
                facts["isa"] = isa[1]
            threads = re.search(r"runtime:(\w+)(?:,nthr:(\d{1,9}))?", text)
            if threads and text.startswith("cpu"):
                facts["runtime"] = threads[1]
                if threads[2]:
                    facts["threads"] = int(threads[2])
        if self.mkl_headers:
            facts["mkl"] = self.mkl_headers
        if self.kept:
            facts["unparsed"] = self.kept
        if self.diagnostics:
            facts["diagnostics"] = [
                {"topic": topic, "text": text, "count": n}
                for (topic, text), n in self.diagnostics.most_common()
            ]
        return facts

    def versions(self) -> dict[str, str]:
        found = {}
        for text in self.headers:
            version = re.match(r"(?:Intel(?:\(R\))? MKL-DNN|DNNL|oneDNN) v(\S+)", text)
            if version:
                found["onednn"] = version[1]
        if self.mkl_headers:
            found["mkl"] = self.mkl_headers[-1].partition(" Product")[0]
        return found

    def losses(self) -> list[tuple[str, int, str, str]]:
        """Cause, count, unit, detail."""
        found = []
        if self.unknown_count:
            text = f"verbose lines of an unknown form; the first: {self.kept[0][:200]}"
            found.append(("unparsed_line", self.unknown_count, "events", text))
        if self.last_line is not None:
            text = f"the log does not end with a newline, so this may be cut: {self.last_line}"
            found.append(("unterminated_line", 1, "events", text))
        if self.diagnostics_dropped:
            text = f"diagnostics beyond the first {_KEPT_REASONS} distinct ones"
            found.append(("diagnostic_dropped", self.diagnostics_dropped, "events", text))
        return found


class Rows:
    """Rows in order, each pointing to the distinct record it repeats."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        self.numbers: dict[bytes, float] = {}  # times as printed; they repeat, being multiples of 0.244 µs
        self.codes = array("i")
        self.times_ms = array("d")
        self.starts_ns = array("q")
        self._texts = {name: Interner() for name in _TEXTS}
        self._columns: dict[str, list[int]] = {name: [] for name in _TEXTS}
        self._flops: list[float] = []
        self._bytes: list[float] = []
        self._threads: list[int] = []

    def append(self, code: int, time_ms: float, start_ns: int) -> None:
        self.codes.append(code)
        self.times_ms.append(time_ms)
        self.starts_ns.append(start_ns)

    def learn(self, head: str, call: Call) -> tuple[int, str]:
        """Give a distinct oneDNN line its code; also its timestamp, empty when there is none."""
        prefix = split_prefix(head)
        stamp = prefix.timestamp if prefix and prefix.timestamp else ""
        key = (head.replace(f",{stamp},", ",", 1) if stamp else head).encode("utf-8", "replace")
        code = self.known.get(key)
        if code is not None:
            return code, stamp
        implementation = call.implementation or ""
        try:
            cost = primitive_cost.of_primitive(
                call.kind, call.direction, call.layouts, call.attributes, call.auxiliary, call.shape
            )
        except (ValueError, OverflowError):  # sizes of thousands of digits: damage, with no cost
            cost = primitive_cost.UNKNOWN
        types = [d.data_type if d else None for d in descriptors.parse(call.layouts)]
        code = self._store(
            {
                "library": "onednn",
                "event": call.event,
                "engine": call.engine,
                "kind": call.kind,
                "implementation": call.implementation,
                "isa": kernel_quality.isa_of(implementation),
                "quality": kernel_quality.quality_of(call.kind, implementation),
                "direction": call.direction,
                "layouts": call.layouts,
                "dtypes": json.dumps(types),
                "attributes": call.attributes,
                "post_ops": json.dumps(primitive_cost.post_ops(call.attributes)),
                "auxiliary": call.auxiliary,
                "shape": call.shape,
            },
            cost,
            -1,
        )
        self.known[key] = code
        return code, stamp

    def learn_mkl(self, key: bytes) -> int:
        """Give a distinct MKL call its code."""
        call = mkl_log.parse(key.decode("utf-8", "replace"))
        record = {"library": "mkl", "event": "exec", "engine": "cpu", "kind": call.kind, "shape": call.shape}
        record["quality"] = "vendor"
        if call.data_type:
            record["dtypes"] = json.dumps([call.data_type])
        code = self._store(dict(record), call.cost, call.threads)
        self.known[key] = code
        return code

    def _store(self, record: dict[str, str | None], cost: primitive_cost.Cost, threads: int) -> int:
        for name in _TEXTS:
            self._columns[name].append(self._texts[name](record.get(name)))
        self._flops.append(cost.flops)
        self._bytes.append(cost.bytes)
        self._threads.append(threads)
        return len(self._flops) - 1

    def recording(self, path: Path, notes: Notes, process: int, epoch_offset_ns: int) -> Recording:
        """Expand the codes into columns."""
        codes = np.frombuffer(self.codes, np.int32) if self.codes else np.empty(0, np.int32)
        count = len(codes)
        times = np.frombuffer(self.times_ms, np.float64) if count else np.empty(0)
        starts = np.frombuffer(self.starts_ns, np.int64) if count else np.empty(0, np.int64)
        starts = np.where(starts >= 0, starts - epoch_offset_ns, -1)
        texts = {
            name: Text(np.array(self._columns[name], np.int32)[codes], self._texts[name].values)
            for name in _TEXTS
        }
        primitives = build.table(
            "primitives",
            count,
            primitive=np.arange(count),
            process=np.full(count, process),
            start_ns=starts,
            time_ms=times,
            flops=np.array(self._flops)[codes],
            bytes=np.array(self._bytes)[codes],
            threads=np.array(self._threads, np.int32)[codes],
            **texts,
        )
        losses = loss_table(Loss(process, *row) for row in notes.losses())
        meta = Meta(
            sonde_version=__version__,
            source="onednn",
            program=path.name,
            versions=notes.versions(),
            clock=Clock(epoch_offset_ns, epoch_offset_ns, sources={"onednn": _CLOCK_STEP_NS}),
            details={"onednn": notes.details()},
        )
        return Recording(meta, link({"primitives": primitives, "losses": losses}), path)
