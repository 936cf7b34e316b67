"""Addresses and code numbers of one process → frames with names, native and Python merged.

In: ThreadStacks as the native reader gives them. Out: frames, leaf first. Each evaluation function of the
interpreter is replaced by the Python frames that it ran; where a native stack ends early, the rest of the Python
stack follows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sonde.live.library import FRAME_EVAL, FRAME_SCANNED, Reader, ThreadStacks
from sonde.symbols.linetable import line_of
from sonde.symbols.resolver import Resolver
from sonde.symbols.shorten import shorten

_EVAL = "_PyEval_EvalFrameDefault"  # its cold part is known by name only


@dataclass(frozen=True)
class Frame:
    """One call. `place` is the source file of a Python frame, the library of a native one."""

    layer: str  # "python" or "native"
    name: str
    place: str
    line: int | None = None
    certain: bool = True  # False: the step to its caller was found by a scan of the stack


class Namer:
    """Names what one process's threads show; remembers what it has named."""

    def __init__(self, reader: Reader, resolver: Resolver) -> None:
        self._reader = reader
        self._resolver = resolver
        self._root = _root_of(reader.pid)
        self._native: dict[int, Frame] = {}

    def frames(self, stacks: ThreadStacks) -> tuple[Frame, ...]:
        """The merged stack, leaf first."""
        python = list(self._python(stacks))
        out: list[Frame] = []
        taken = 0
        for i in range(stacks.native_count):
            exact = i == 0
            frame = self._at(stacks.pc[i] if exact else stacks.pc[i] - 1)
            if not (stacks.flags[i] & FRAME_EVAL or frame.name.startswith(_EVAL)):
                scanned = bool(stacks.flags[i] & FRAME_SCANNED)
                out.append(Frame("native", frame.name, frame.place, None, False) if scanned else frame)
                continue
            while taken < len(python):
                one, ends = python[taken]
                taken += 1
                out.append(one)
                if ends:
                    break
        out.extend(one for one, _ in python[taken:])
        return tuple(out)

    def _python(self, stacks: ThreadStacks) -> Iterator[tuple[Frame, bool]]:
        """Python frames, each with whether it is the last of its evaluation call."""
        for i in range(stacks.python_count):
            code = self._reader.code(stacks.code[i])
            ends = bool(stacks.entry[i])
            if code is None:
                yield Frame("python", "?", "?"), ends
                continue
            name, file, first_line, table = code
            instruction = stacks.instruction[i]
            line = line_of(table, first_line, instruction, self._reader.python_minor)
            yield Frame("python", name, file, line if line > 0 else first_line), ends

    def _at(self, address: int) -> Frame:
        known = self._native.get(address)
        if known is None:
            known = self._native[address] = self._named(address)
        return known

    def _named(self, address: int) -> Frame:
        mapping = self._reader.mapping(address)
        if mapping is None:
            return Frame("native", f"{address:#x}", "?")
        path, start, offset = mapping
        if not path.startswith("/") or path.startswith("/memfd:"):
            return Frame("native", f"{address:#x}", path or "generated code")
        plain = path.removesuffix(" (deleted)")
        within = address - start + offset
        resolved = self._resolver.resolve(self._root + plain, None, [within])[0]
        name = shorten(resolved.name) if resolved.name else f"+{within:#x}"
        return Frame("native", name, os.path.basename(plain))


def _root_of(pid: int) -> str:
    """Where the process's files are for us: "" in the same file system, /proc/PID/root in a container."""
    try:
        theirs, ours = os.stat(f"/proc/{pid}/root/"), Path("/").stat()
    except OSError:
        return ""
    return "" if (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino) else f"/proc/{pid}/root"
