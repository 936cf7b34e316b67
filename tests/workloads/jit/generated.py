"""Runs machine code that it writes itself: a named kernel, another one in its place, and an unnamed one.

Writes a jitdump as oneDNN does (argv[1]: folder) and a perf map line for a third kernel.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
import time
from pathlib import Path

# mov rcx, rdi; again: dec rcx; jnz again; ret
SPIN = bytes.fromhex("4889f948ffc975fbc3")


def region() -> tuple[mmap.mmap, int]:
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def spin(address: int, seconds: float) -> None:
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_long)(address)
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        kernel(3_000_000)


class Jitdump:
    def __init__(self, folder: Path) -> None:
        path = folder / ".debug/jit/test.0" / f"jit-{os.getpid()}.dump"
        path.parent.mkdir(parents=True)
        self.file = path.open("wb", buffering=0)
        self.file.write(struct.pack("<6I2Q", 0x4A695444, 1, 40, 62, 0, os.getpid(), time.monotonic_ns(), 0))

    def load(self, name: str, address: int, code: bytes) -> None:
        body = struct.pack("<2I4Q", os.getpid(), os.getpid(), address, address, len(code), 0)
        body += name.encode() + b"\0" + code
        self.file.write(struct.pack("<2IQ", 0, 16 + len(body), time.monotonic_ns()) + body)


def main() -> None:
    dump = Jitdump(Path(sys.argv[1]))
    memory, address = region()
    memory[: len(SPIN)] = SPIN
    dump.load("kernel_one", address, SPIN)
    spin(address, 0.3)
    print(time.monotonic_ns())
    dump.load("kernel_two", address, SPIN)  # other code at the same place
    spin(address, 0.3)
    mapped, other = region()
    mapped[: len(SPIN)] = SPIN
    perf_map = Path(f"/tmp/perf-{os.getpid()}.map")
    perf_map.write_text(f"{other:x} {len(SPIN):x} kernel from a perf map\n")
    spin(other, 0.3)
    perf_map.unlink()
    unnamed, third = region()
    unnamed[: len(SPIN)] = SPIN
    spin(third, 0.3)
    time.sleep(0.4)  # the agent looks a few times per second
    print(third)


main()
