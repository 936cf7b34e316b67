"""Names of generated functions from GDB's JIT interface, for libraries that keep that list and write no perf map.

LLVM keeps the object files of all code that it generates in a linked list for debuggers (`__jit_debug_descriptor`):
numba and XLA run on it. At the end of the program, before these libraries take their code down, the list is read and
every function in it is written down:

    raw/PID.functions.tsv    address and size in hexadecimal, name; tab-separated

The list is read through /proc/self/mem: an address that is not there is an error there, and no crash.
"""

from __future__ import annotations

import atexit
import json
import os
import struct
from collections.abc import Iterator
from typing import Any

from sonde import rawfolder

OPTIONS_VARIABLE = "SONDE_OBSERVE"
SYMBOL = b"__jit_debug_descriptor\0"
LIBRARIES = (
    "llvmlite",
    "jax",
    "xla",
    "LLVM",
    "tensorflow",
)  # in the file names of libraries that may have it
MOST_OBJECTS, LARGEST_BYTES, MOST_SYMBOLS = 20_000, 64 << 20, 4_000_000
SYMTAB, FUNCTION = 2, 2


def watch(module: Any) -> None:
    """A library that generates code was imported: what it registered for the end comes after this."""
    atexit.register(_write)


def _write() -> None:
    try:
        folder = os.path.join(json.loads(os.environ[OPTIONS_VARIABLE])["folder"], rawfolder.FOLDER)
        lines = [f"{start:x}\t{size:x}\t{name}\n" for start, size, name in functions()]
        if lines:
            path = rawfolder.FUNCTIONS.path(folder, os.getpid())
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.writelines(lines)
    except (OSError, ValueError, KeyError, struct.error):
        pass  # the functions stay nameless, and the recording shows them so


def functions() -> Iterator[tuple[int, int, str]]:
    """Address, size and name of every function in the lists of this process."""
    memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        for path, base in _loaded():
            offset = _descriptor(path)
            if offset is None:
                continue
            _, _, _, entry = struct.unpack("<IIQQ", os.pread(memory, 24, base + offset))
            for _ in range(MOST_OBJECTS):
                if not entry:
                    break
                entry, _, address, size = struct.unpack("<QQQQ", os.pread(memory, 32, entry))
                if 64 <= size <= LARGEST_BYTES:
                    yield from _of_object(os.pread(memory, size, address))
    finally:
        os.close(memory)


def _loaded() -> Iterator[tuple[str, int]]:
    """Path and load address of the libraries that may keep a list."""
    seen = set()
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            words = line.rstrip("\n").split(None, 5)
            path = words[5] if len(words) == 6 else ""
            name = os.path.basename(path)
            if words[2] == "00000000" and path not in seen and any(part in name for part in LIBRARIES):
                seen.add(path)
                yield path, int(words[0].split("-")[0], 16)


def _descriptor(path: str) -> int | None:
    """Where a library has its list, from its symbol table; None when it has none."""
    with open(path, "rb") as file:
        head = file.read(64)
        for kind, _, offset, size, link in _sections(head, file):
            if kind != SYMTAB or size > 24 * MOST_SYMBOLS:
                continue
            names = link
            file.seek(names[0])
            strings = file.read(names[1])
            wanted = strings.find(b"\0" + SYMBOL) + 1
            if not wanted:
                return None
            file.seek(offset)
            table = file.read(size)
            # The name's place in the strings, as the table has it; entries are 24 bytes.
            key, at = struct.pack("<I", wanted), -1
            while (at := table.find(key, at + 1)) >= 0:
                if at % 24 == 0:
                    return int(struct.unpack_from("<Q", table, at + 8)[0])
    return None


def _sections(head: bytes, file: Any) -> Iterator[tuple[int, int, int, int, tuple[int, int]]]:
    """Type, address, offset, size of each section, and offset and size of the one that it is linked to."""
    if head[:5] != b"\x7fELF\x02":
        return
    (start,) = struct.unpack_from("<Q", head, 40)
    each, count = struct.unpack_from("<HH", head, 58)
    file.seek(start)
    table = file.read(each * count)
    rows = [struct.unpack_from("<IIQQQQII", table, i * each) for i in range(count)]
    for row in rows:
        linked = rows[row[6]] if row[6] < count else row
        yield row[1], row[3], row[4], row[5], (linked[4], linked[5])


def _of_object(data: bytes) -> Iterator[tuple[int, int, str]]:
    """The functions of one object file in memory; its sections have their addresses."""
    import io

    sections = list(_sections(data[:64], io.BytesIO(data)))
    for kind, _, offset, size, (names, length) in sections:
        if kind != SYMTAB:
            continue
        strings = data[names : names + length]
        for at in range(offset, offset + size - 23, 24):
            name, info, _, section, value, long = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == FUNCTION and 0 < section < len(sections) and long:
                text = strings[name : strings.find(b"\0", name)].decode("utf-8", "replace")
                if text.isprintable():
                    yield sections[section][1] + value, long, text
