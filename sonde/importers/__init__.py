"""What other tools recorded → the same tables: one file per format, one table of formats.

`open_any` opens whatever a user has: a recording of Sonde, or a file that one of
the importers knows by its content. Adding a format is one file and one line.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.errors import InputError

if TYPE_CHECKING:
    from sonde.store.recording import Recording

_HEAD_BYTES = 65536


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
    return lambda value: getattr(import_module(f"sonde.importers.{module}"), function)(value)


def _format(name: str, module: str, sniff: Callable[[bytes], bool] | None = None) -> Format:
    return Format(name, sniff or _late(module, "sniff"), _late(module, "read"))


# In the order of asking: the most particular first, JSON of any kind last.
FORMATS: tuple[Format, ...] = (
    _format("onednn", "onednn_log"),
    _format("speedscope", "speedscope"),
    _format("mxnet", "mxnet_trace"),
    _format("mxnet-aggregate", "mxnet_table"),
    _format("kineto", "kineto", _is_json),
    _format("perf", "perf_script"),
    _format("collapsed", "collapsed"),
)


def open_any(path: Path, engine: str = "local") -> Recording:
    """The recording in `path`: a .sonde folder or packed file, an imported file, or a folder of traces.

    `engine` says where the traces of a folder are read: on this machine, or on a Ray cluster.
    """
    from sonde.store import reader

    if not path.exists():
        raise InputError(f"{path} does not exist", "give a recording (NAME.sonde) or a trace file")
    if path.is_dir() and not reader.is_recording(path) and find_traces(path):
        from sonde.importers.ranks import open_folder

        return open_folder(path, engine)
    if path.is_dir() or reader.is_recording(path):
        return reader.open_recording(path)
    head = head_of(path)
    for known in FORMATS:
        if known.name == "kineto" if _is_torch(head) else known.sniff(head):
            return known.read(path)
    if not head:
        raise InputError(f"{path} is empty", "record or export it again")
    raise InputError(
        f"{path} has no format that Sonde knows: it starts with {head[:16]!r}",
        f"Sonde imports {', '.join(f.name for f in FORMATS)} and opens its own recordings",
    )


def head_of(path: Path, size: int = _HEAD_BYTES) -> bytes:
    """The first bytes of a file, inflated when it is gzip."""
    try:
        with path.open("rb") as file:
            head = file.read(size)
            if head[:2] != b"\x1f\x8b":
                return head
            file.seek(0)
            try:
                return gzip.GzipFile(fileobj=file).read1(size)
            except (OSError, EOFError, zlib.error):
                return b""
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def find_traces(folder: Path) -> list[Path]:
    """Files below `folder` that may be traces of ranks, by name and then by content, sorted."""
    found = [p for p in folder.rglob("*") if p.is_file() and p.name.endswith((".json", ".json.gz"))]
    return sorted(p for p in found if is_trace(p))


def is_trace(path: Path) -> bool:
    """Whether the first bytes look like events of a trace."""
    head = head_of(path)
    return _is_json(head) and any(
        word in head for word in (b'"traceEvents"', b'"ph"', b'"schemaVersion"', b'"deviceProperties"')
    )
