"""Writes raw logs byte by byte, from the description in native/agent/log/format.h.

Independent of the agent's writer, so that the decoder is checked against the format and not against its twin.
"""

from __future__ import annotations

import struct

HEADER, BASE, THREAD_START, THREAD_END, MAPPING, UNMAPPING, NODE, PYTHON_NODE, CODE = range(1, 10)
SAMPLE, WAIT, JIT_CODE, LOSS, COUNTER, BLOCK, STATISTICS, FOOTER, MODULE, READINGS, GAP = range(10, 21)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    return varint((value << 1) ^ (value >> 63) if value < 0 else value << 1)


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(len(raw)) + raw


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def preamble(chunks: int = 0, samples: int = 0, cpu_ns: int = 0, waits: int = 0, others: int = 0) -> bytes:
    """What version 2 begins with."""
    head = struct.pack("<4sIQQQQQ12x", b"SLG2", 64, chunks, samples, cpu_ns, waits, others)
    return head + struct.pack("<I", crc32c(head))


class Slog:
    """Collects records into chunks. Fields: int is a varint, str/bytes is text, ("z", n) is zigzag."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self._payload = b""

    def record(self, kind: int, *fields: int | str | bytes | tuple[str, int]) -> Slog:
        body = b"".join(
            zigzag(f[1]) if isinstance(f, tuple) else varint(f) if isinstance(f, int) else text(f)
            for f in fields
        )
        self._payload += bytes([kind]) + varint(len(body)) + body
        return self

    def header(
        self, pid: int = 42, engine: str = "perf+kernel", python: str = "3.11.7", version: int = 1
    ) -> Slog:
        return self.record(HEADER, version, pid, 1, 1000, ("z", -5), 100, engine, python, "prog\0arg", 0)

    def base(self, time_ns: int, epoch: int = 0) -> Slog:
        return self.record(BASE, time_ns, epoch)

    def sample(
        self, thread: int, delta_ns: int, stack: int, python: int = 0, weight_ns: int = 10, kind: int = SAMPLE
    ) -> Slog:
        return self.record(kind, thread, ("z", delta_ns), stack, python, 0, 0, weight_ns, 0, 0, 0, 2)

    def chunk(self) -> Slog:
        head = struct.pack("<4sIII", b"SLG1", len(self._payload), crc32c(self._payload), len(self.chunks))
        self.chunks.append(head + self._payload)
        self._payload = b""
        return self

    def data(self) -> bytes:
        if self._payload:
            self.chunk()
        return b"".join(self.chunks)
