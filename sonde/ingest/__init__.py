"""What other tools recorded → the same tables: one file per format, one table of formats.

`open_any` opens whatever a user has: a recording of Sonde, or a file that one of
the decoders here knows by its content. Adding a format is one file and one line.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.errors import InputError, SondeError, UsageError

if TYPE_CHECKING:
    from sonde.store.recording import Recording

_HEAD_BYTES = 65536
_WORDS_OF_TRACES = (b'"traceEvents"', b'"ph"', b'"schemaVersion"', b'"deviceProperties"')


@dataclass(frozen=True)
class Format:
    """A format: `sniff` looks at the first bytes (inflated), `read` makes a recording."""

    name: str
    sniff: Callable[[bytes], bool]
    read: Callable[[Path], Recording]


def _is_json(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def _is_torch(head: bytes) -> bool:
    """Keys that torch.profiler alone writes, near the start: no other importer need be asked."""
    return _is_json(head) and any(k in head[:4096] for k in (b'"schemaVersion"', b'"deviceProperties"'))


def _late(module: str, function: str) -> Callable[[Any], Any]:
    """A function of an importer that is loaded when it is first called: a trace needs no log grammar."""
    return lambda value: getattr(import_module(f"sonde.ingest.{module}"), function)(value)


def _format(name: str, module: str, sniff: Callable[[bytes], bool] | None = None) -> Format:
    return Format(name, sniff or _late(module, "sniff"), _late(module, "read"))


# In the order of asking: the most particular first, JSON of any kind last.
FORMATS: tuple[Format, ...] = (
    _format("onednn", "verbose.onednn_log"),
    _format("speedscope", "sampled.speedscope"),
    _format("mxnet", "mxnet.trace"),
    _format("mxnet-aggregate", "mxnet.table"),
    _format("kineto", "kineto.reader", _is_json),
    _format("perf", "sampled.perf_script"),
    _format("collapsed", "sampled.collapsed"),
)


def open_any(path: Path, engine: str = "local", run: int | None = None) -> Recording:
    """The recording in `path`: a .sonde folder or packed file, an imported file, or a folder of traces.

    `engine` says where the traces of a folder are read: on this machine, or on a Ray cluster. `run` chooses
    among several runs in one folder; without it the last is opened.
    """
    from sonde.store import reader

    if not path.exists():
        raise InputError(f"{path} does not exist", "give a recording (NAME.sonde) or a trace file")
    if path.is_dir() and not reader.is_recording(path) and find_traces(path):
        from sonde.ingest.ranks.folder import open_folder

        return open_folder(path, engine, run)
    if path.is_dir() and not reader.is_recording(path):
        from sonde.ingest.ranks.hosts import find_recordings, open_hosts

        if found := find_recordings(path):
            return open_hosts(found)
    if run is not None:
        raise UsageError(f"--run {run} selects a run in a folder of traces; {path} is not such a folder")
    if path.is_dir() or reader.is_recording(path):
        return reader.open_recording(path)
    head = head_of(path)
    for known in FORMATS:
        if known.name == "kineto" if _is_torch(head) else known.sniff(head):
            return known.read(path)
    if not head:
        raise InputError(f"{path} is empty", "record or export it again")
    raise InputError(
        f"{path} is not in a format that Sonde knows: it starts with {head[:16]!r}",
        f"Sonde imports {', '.join(f.name for f in FORMATS)} and opens its own recordings",
    )


def head_of(path: Path, size: int = _HEAD_BYTES) -> bytes:
    """The first bytes of a file, inflated when it is gzip."""
    from sonde.ingest.plain_bytes import GZIP, open_regular

    with open_regular(path) as file:
        head = file.read(size)
        if head[:2] != GZIP:
            return head
        file.seek(0)
        try:
            return gzip.GzipFile(fileobj=file).read1(size)
        except (OSError, EOFError, zlib.error):
            return b""


@dataclass(frozen=True)
class Failure:
    """A file that could not be read, or is no trace, and why."""

    path: Path
    message: str


@dataclass(frozen=True)
class Survey:
    """The files of a folder: traces, and those that are named like traces and are none."""

    traces: list[Path]
    others: list[Failure]


def survey(folder: Path) -> Survey:
    """Files below `folder` that may be traces of ranks, by name and then by content, sorted."""
    named = sorted(p for p in folder.rglob("*") if p.is_file() and p.name.endswith((".json", ".json.gz")))
    why = [(p, _why_no_trace(p)) for p in named]
    return Survey([p for p, reason in why if not reason], [Failure(p, reason) for p, reason in why if reason])


def find_traces(folder: Path) -> list[Path]:
    """Files below `folder` that look like traces, sorted."""
    return survey(folder).traces


def _why_no_trace(path: Path) -> str:
    """Why the first bytes do not look like events of a trace; "" when they do."""
    try:
        head = head_of(path)
    except (OSError, SondeError) as error:
        return getattr(error, "message", None) or str(error)
    if not head.strip():
        return "is empty" if path.stat().st_size == 0 else "holds nothing that can be decompressed"
    if not _is_json(head) or not any(word in head for word in _WORDS_OF_TRACES):
        return "is not a trace"
    return ""
