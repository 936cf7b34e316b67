"""oneDNN and MKL verbose logs, v0.x to v3.13, as a recording with the table `primitives`.

Enters: a text file (may be gzip) with verbose lines among any other output.
Leaves: one row per timed line, in the order of the log, with the time exactly
as printed. Header lines go to meta, diagnostics to meta.details, and a line
that carries a marker but fits no known form is counted in `losses` and kept.

A log of a million lines has a few hundred distinct ones, once time and
timestamp are taken off. Each distinct line is parsed once; the rest is a
dictionary look-up, so plain Python reads a million lines in two to four seconds
(benchmarks/suites/onednn_log.py), and memory grows by 20 bytes per line until the
columns are expanded at the end.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from sonde.errors import InputError
from sonde.ingest.plain_bytes import open_plain
from sonde.ingest.verbose import mkl_log
from sonde.ingest.verbose.onednn_grammar import MARKERS, parse_call, parse_remark
from sonde.ingest.verbose.onednn_rows import Notes, Rows
from sonde.store.recording import Recording

NAME = "onednn"
_MARKER = b"_verbose,"
_MARKER_NAMES = tuple(name.encode() for name in sorted(MARKERS, key=len, reverse=True))
_NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_BLOCK_BYTES = 4 << 20
_LONGEST_LINE = 1 << 20
_KEPT_NUMBERS = 200_000  # distinct times and MKL lines remembered


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file look like such a log."""
    return any(name + b"," in head for name in _MARKER_NAMES) or head.find(mkl_log.MARKER) >= 0


def read(path: Path, process: int = -1, epoch_offset_ns: int = 0) -> Recording:
    """Import one log. `epoch_offset_ns` (epoch minus common clock) moves its timestamps."""
    rows = Rows()
    notes = Notes()
    try:
        with open_plain(path) as file:
            for block in _blocks(file, notes):
                _parse(block, rows, notes)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not rows.codes and not notes.known_lines:
        raise InputError(
            f"{path} holds no oneDNN or MKL verbose line ({notes.other_lines} other lines)",
            "make one with: ONEDNN_VERBOSE=2 MKL_VERBOSE=1 python script.py > log.txt",
        )
    return rows.recording(path, notes, process, epoch_offset_ns)


def read_stamped(path: Path, process: int) -> tuple[Recording, npt.NDArray[np.int64]]:
    """A log of native/lines, each line as `NS TID line`: the recording, and the thread id of each row.

    The time is when the line was printed, on the common clock; a call began its own time before.
    """
    rows, notes = Rows(), Notes()
    printed, tids = array("q"), array("q")
    try:
        with open(path, "rb") as file:
            for block in _blocks(file, notes):
                for line in block:
                    time_ns, _, rest = line.partition(b" ")
                    tid, _, text = rest.partition(b" ")
                    if not (time_ns.isdigit() and tid.isdigit() and len(time_ns) < 19 and len(tid) < 19):
                        if line:
                            notes.unknown(line)
                        continue
                    before = len(rows.codes)
                    _parse([text], rows, notes)
                    for _ in range(len(rows.codes) - before):
                        printed.append(int(time_ns))
                        tids.append(int(tid))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    found = rows.recording(path, notes, process, 0)
    table = found.table("primitives")
    length_ns = np.nan_to_num(table.array("time_ms")) * 1e6
    starts = np.array(printed, np.int64) - length_ns.astype(np.int64)
    tables = {**{t.name: t for t in found.tables()}, "primitives": table.with_columns(start_ns=starts)}
    return Recording(found.meta, tables, path), np.array(tids, np.int64)


def _blocks(file: BinaryIO, notes: Notes) -> Iterator[list[bytes]]:
    """Whole lines, a few megabytes at a time."""
    rest = b""
    while data := file.read(_BLOCK_BYTES):
        lines = (rest + data).replace(b"\r\n", b"\n").split(b"\n")
        rest = lines.pop()
        if len(rest) > _LONGEST_LINE:  # not a log: do not let one endless line fill the memory
            notes.unknown(rest[:200])
            rest = b""
        yield lines
    rest = rest.rstrip(b"\r")
    if rest:
        # The libraries end every line; without that, its time may have lost digits.
        notes.unterminated(rest)
        yield [rest]


def _parse(lines: list[bytes], rows: Rows, notes: Notes) -> None:
    """The hot loop. A hit costs one split, two look-ups and three appends."""
    known, numbers = rows.known, rows.numbers
    codes, times, starts = rows.codes, rows.times_ms, rows.starts_ns
    stamped = False  # whether the last line had a timestamp: the next one probably has too
    for line in lines:
        head, _, tail = line.rpartition(b",")
        code, start = None, -1
        if not stamped:
            code = known.get(head)
        if code is None:
            code, start = _stamped(head, known)
            stamped = code is not None
            if code is None:
                code = known.get(head)
        time_ms = numbers.get(tail)
        if time_ms is None and code is not None:
            time_ms = _number(tail)
            if time_ms is not None and len(numbers) < _KEPT_NUMBERS:
                numbers[tail] = time_ms
        if code is None or time_ms is None:
            _slow(line, rows, notes)
            continue
        codes.append(code)
        times.append(time_ms)
        starts.append(start)


def _stamped(head: bytes, known: dict[bytes, int]) -> tuple[int | None, int]:
    """Code and start of a known line with a timestamp: `marker,[vN,]MS.NNNNNN,…`."""
    at = head.find(b",") + 1
    if head[at : at + 1] == b"v":
        at = head.find(b",", at) + 1
    end = head.find(b",", at)
    if end - at < 8 or head[end - 7 : end - 6] != b".":
        return None, -1
    code = known.get(head[:at] + head[end + 1 :])
    digits = head[at : end - 7] + head[end - 6 : end]  # milliseconds with six decimals: nanoseconds
    if code is None or not digits.isdigit() or len(digits) > 18 + 1:
        return None, -1
    start = int(digits)
    return code, start if start < 1 << 62 else -1


def _stamp_ns(whole: bytes, part: bytes) -> int:
    """Decimal milliseconds to nanoseconds without passing through a float."""
    value = int(whole) * 1_000_000 + int(part[:6].ljust(6, b"0"))
    return value if value < 1 << 62 else -1


def _slow(line: bytes, rows: Rows, notes: Notes) -> None:
    """A line seen for the first time, a header, a diagnostic, or something else."""
    if line.startswith(mkl_log.MARKER) and line.count(_MARKER) == 0 and line.count(mkl_log.MARKER) == 1:
        _mkl_record(line, rows, notes)
        return
    starts = _record_starts(line)
    if not starts:
        notes.other_lines += 1
        return
    # Two threads may print into one line: each marker starts a record of its own.
    for at, end in zip(starts, [*starts[1:], len(line)], strict=True):
        _record(line[at:end], rows, notes)


def _record_starts(line: bytes) -> list[int]:
    starts = []
    at = line.find(_MARKER)
    while at >= 0:
        for name in _MARKER_NAMES:
            begin = at + len(_MARKER) - 1 - len(name)
            if begin >= 0 and line.startswith(name + b",", begin):
                starts.append(begin)
                break
        at = line.find(_MARKER, at + 1)
    at = line.find(mkl_log.MARKER)
    while at >= 0:
        starts.append(at)
        at = line.find(mkl_log.MARKER, at + 1)
    return sorted(starts)


def _record(piece: bytes, rows: Rows, notes: Notes) -> None:
    if piece.startswith(mkl_log.MARKER):
        _mkl_record(piece, rows, notes)
        return
    text = piece.decode("utf-8", "replace")
    remark = parse_remark(text)
    if remark is not None:
        notes.remark(remark)
        return
    head, _, tail = text.rpartition(",")
    time_ms = _number(tail.encode("utf-8", "replace"))
    call = parse_call(head) if time_ms is not None else None
    if call is None:
        # v1.0 prints no time for work on a GPU.
        call = parse_call(text)
        if call is None or call.engine is None or not call.engine.startswith("gpu"):
            notes.unknown(piece)
            return
        time_ms, head = float("nan"), text
    code, stamp = rows.learn(head, call)
    whole, _, part = stamp.encode().partition(b".")
    rows.append(code, float("nan") if time_ms is None else time_ms, _stamp_ns(whole, part) if whole else -1)


def _mkl_record(piece: bytes, rows: Rows, notes: Notes) -> None:
    # Addresses repeat from step to step, so most lines are known as they are, but for the time.
    close = piece.rfind(b") ")
    space = piece.find(b" ", close + 2)
    raw = piece[: close + 1] + piece[space:] if 0 < close < space else b""
    code = rows.known.get(raw) if raw else None
    if code is not None:
        time_ms = mkl_log.milliseconds(piece[close + 2 : space])
        if time_ms is not None:
            rows.append(code, time_ms, -1)
            return
    parts = mkl_log.split(piece)
    if parts is not None:
        key, time_ms = parts
        code = rows.known.get(key)
        code = rows.learn_mkl(key) if code is None else code
        if raw and len(rows.known) < _KEPT_NUMBERS:
            rows.known[raw] = code
        rows.append(code, time_ms, -1)
        return
    described = mkl_log.header(piece.decode("utf-8", "replace"))
    if described is not None:
        notes.mkl_header(described)
    else:
        notes.unknown(piece)


def _number(text: bytes) -> float | None:
    """A time as printf writes it; float() alone would also take `nan`, `1e400`, `1_0`, `+.5` and spaces."""
    value = float(text) if _NUMBER.fullmatch(text) else mkl_log.LONGEST_MS
    return value if value < mkl_log.LONGEST_MS else None
