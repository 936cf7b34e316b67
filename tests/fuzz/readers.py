"""Every reader of files that someone else may have made, as the campaign calls it.

A reader gets mutated bytes and answers "clean" or "with losses", or raises. What it may raise are the errors that
`sonde.cli.main` prints as one line about the input; anything else is a finding of the campaign.
"""

from __future__ import annotations

import io
import random
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import InputError
from sonde.experiment.proving import ledger
from sonde.experiment.proving.journal import Journal
from sonde.ingest import open_any
from sonde.ingest.agent import assemble
from sonde.ingest.agent import decode as rawlog
from sonde.ingest.kineto import reader as kineto
from sonde.ingest.kineto.trace_library import Limits, NativeTrace
from sonde.ingest.mxnet import table as mxnet_table
from sonde.ingest.mxnet import trace as mxnet_trace
from sonde.ingest.sampled import collapsed, perf_script, speedscope
from sonde.ingest.verbose import onednn_log
from sonde.store import links
from sonde.store.meta import Meta
from sonde.store.reader import open_recording
from sonde.store.recording import Recording
from sonde.store.schema import TABLES
from sonde.symbols.resolver import Resolver
from tests.fuzz import real, seeds, tables
from tests.fuzz.consumers import consume
from tests.fuzz.mutation import mutate
from tests.fuzz.structure import mutate_json, mutate_lines
from tests.unit.store.slog import crc32c

LIMITS = Limits(value_bytes=1 << 20, metadata_bytes=4 << 20, metadata_entries=1000)
Make = Callable[[bytes, random.Random, list[bytes]], bytes]


@dataclass(frozen=True)
class Reader:
    """`make` turns a seed into an input, `read` reads it from a file or a folder that is there for it."""

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], str]
    make: Make = mutate


def _judged(recording: Recording) -> str:
    """Whatever an importer made obeys the schema, its links hold, and it says what it lost."""

    def largest(table: str) -> int:
        return int(recording.table(table).array(links.column_of(table)).max(initial=-1))

    for name in TABLES:
        links.check(recording.table(name), largest)
    return "with losses" if len(recording.table("losses")) else "clean"


def _file(read: Callable[[Path], Recording]) -> Callable[[bytes, Path], str]:
    def run(data: bytes, folder: Path) -> str:
        path = folder / "input"
        path.write_bytes(data)
        recording = read(path)
        try:
            return _judged(recording)
        except InputError as error:  # our own importer made it: a bug, not an input
            raise AssertionError(error.message) from error

    return run


def _kineto(data: bytes, folder: Path) -> str:
    with NativeTrace(data, LIMITS) as trace:
        recording = kineto.recording_of(trace, None)
    try:
        return _judged(recording)
    except InputError as error:
        raise AssertionError(error.message) from error


def _rawlog(data: bytes, folder: Path) -> str:
    path = folder / "42.1000.slog"
    path.write_bytes(data)
    log = rawlog.read_raw_log(path)
    tables = assemble([log], Resolver(), {}, {})
    try:
        return _judged(Recording(Meta(), tables))
    except InputError as error:
        raise AssertionError(error.message) from error


def _sealed_log(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """A log with mutated records in chunks that are whole; now and then the chunks are mutated too."""
    if rng.random() < 0.1:
        return mutate(data, rng, others)
    sealed, at, number = b"", 0, 0
    while at + 16 <= len(data):
        (size,) = struct.unpack_from("<I", data, at + 4)
        payload = data[at + 16 : at + 16 + size]
        if rng.random() < 0.7:
            payload = mutate(payload, rng, others)[:20_000]
        sealed += struct.pack("<4sIII", b"SLG1", len(payload), crc32c(payload), number) + payload
        at, number = at + 16 + size, number + 1
    return sealed


def _meta(data: bytes, folder: Path) -> str:
    (folder / "meta.json").write_bytes(data)
    Meta.read(folder).write(folder)
    Meta.read(folder)
    return "clean"


def _journal(data: bytes, folder: Path) -> str:
    path = folder / "journal.jsonl"
    path.write_bytes(data)
    Journal(path).of("a", 0, {"a": "k", "b": "k"})
    return "clean"


def _ledger(data: bytes, folder: Path) -> str:
    path = folder / "ledger.jsonl"
    path.write_bytes(data)
    ledger.calibration(ledger.read(path))
    return "clean"


def _packed(data: bytes, folder: Path) -> str:
    path = folder / "a.sonde.zip"
    path.write_bytes(data)
    recording = open_recording(path)
    recording.table(list(TABLES)[len(data) % len(TABLES)])
    return "clean"


def _repacked(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """A zip whose members are mutated and whose own checksums fit; now and then its bytes are mutated."""
    if rng.random() < 0.5:
        return mutate(data, rng, others)
    stream, files = io.BytesIO(), seeds.folder_files()
    chosen = rng.choice(list(files))
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w", method) as archive:
        for inner, content in files.items():
            name = f"a.sonde/{inner}"
            if inner == chosen:
                content = mutate(content, rng, list(files.values()))
                name = rng.choice(
                    (name, name, name, f"../{inner}", f"/tmp/{inner}", name.replace("/", "\\"), "x" * 300)
                )
            archive.writestr(name, content)
    return stream.getvalue()


def _parquet(data: bytes, folder: Path) -> str:
    """One table file of a recording is damaged. With checksums that is always an error."""
    which = data[0] % len(_PARQUET)
    content, sealed = data[2:], data[1] % 4 == 0
    files = dict(seeds.folder_files())
    inner = _PARQUET[which]
    changed = content != files[inner]
    files[inner] = content
    if not sealed:
        files["meta.json"] = files["meta.json"].split(b'"files"')[0].rstrip().removesuffix(b",") + b"}"
    for name, part in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(part)
    open_recording(folder).table(inner.partition("/")[0])
    if sealed and changed:
        raise AssertionError(f"{inner} was changed, and its checksum said nothing")
    return "clean"


_PARQUET = [name for name in seeds.folder_files() if name.endswith(".parquet")]


def _parquet_input(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    which = rng.randrange(len(_PARQUET))
    content = mutate(seeds.folder_files()[_PARQUET[which]], rng, others)
    return bytes([which, rng.randrange(256)]) + content


def _number(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """An input that is a seed of its own: what it stands for is made where it is read."""
    return struct.pack("<Q", rng.getrandbits(64))


def _tables(data: bytes, folder: Path) -> str:
    """A recording with other values in its tables, and some of what is done with it."""
    rng = random.Random(data)
    recording = tables.mutated(rng, Path(tempfile.mkdtemp(dir=folder)))
    return consume(recording, rng, folder)


def _trace_tables(data: bytes, folder: Path) -> str:
    with NativeTrace(data, LIMITS) as trace:
        recording = kineto.recording_of(trace, None)
    return consume(recording, random.Random(zlib.crc32(data)), folder)


def _profile_tables(data: bytes, folder: Path) -> str:
    """Profiles and logs of other tools, by what they look like, as `sonde show FILE` reads them."""
    path = folder / "input"
    path.write_bytes(data)
    return consume(open_any(path), random.Random(zlib.crc32(data)), folder)


def _profiles() -> list[bytes]:
    return [*seeds.perf(), *seeds.speedscope(), *seeds.collapsed(), *_onednn(), *seeds.mkl(), *_mxnet()]


def _traces() -> list[bytes]:
    return seeds.kineto() + real.traces("traces")


def _mxnet() -> list[bytes]:
    return seeds.mxnet() + real.traces("mxnet")


def _aggregates() -> list[bytes]:
    return seeds.mxnet_aggregate() + real.whole("mxnet", "*agg.json*") + real.whole("mxnet", "*table.txt")


def _onednn() -> list[bytes]:
    return seeds.onednn() + real.lines("mxnet", "verbose*")


READERS = (
    Reader("kineto", _traces, _kineto, mutate_json),
    Reader("perf", seeds.perf, _file(perf_script.read)),
    Reader("speedscope", seeds.speedscope, _file(speedscope.read), mutate_json),
    Reader("collapsed", seeds.collapsed, _file(collapsed.read)),
    Reader("onednn", _onednn, _file(onednn_log.read)),
    Reader("mkl", seeds.mkl, _file(onednn_log.read)),
    Reader("mxnet", _mxnet, _file(mxnet_trace.read), mutate_json),
    Reader("mxnet-aggregate", _aggregates, _file(mxnet_table.read), mutate_json),
    Reader("meta", seeds.meta, _meta, mutate_json),
    Reader("journal", seeds.journal, _journal, mutate_lines),
    Reader("ledger", seeds.ledger, _ledger, mutate_lines),
    Reader("rawlog", seeds.rawlog, _rawlog, _sealed_log),
    Reader("zip", seeds.packed, _packed, _repacked),
    Reader("parquet", lambda: list(seeds.folder_files().values()), _parquet, _parquet_input),
    Reader("tables, then used", lambda: [b""], _tables, _number),
    Reader("traces, then used", _traces, _trace_tables, mutate_json),
    Reader("profiles, then used", _profiles, _profile_tables, mutate_json),
)
