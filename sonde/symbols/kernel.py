"""Addresses of the kernel → names, from /proc/kallsyms.

In: an address and the boot that it was seen in. Out: function, where it starts and its kernel module.
Kernel addresses change with every boot (KASLR), so names are given only while that boot lives; and the kernel
hides them (all zero) from whom kernel.kptr_restrict forbids. Then `missing` says why there are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonde.columns import Array

_KALLSYMS = Path("/proc/kallsyms")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_KERNEL_START = 0xFFFF_8000_0000_0000
# Behind the last symbol, or in a gap as large, is no function of the kernel (freed code, JIT of BPF without name).
_MOST_BYTES = 1 << 20
_ADDRESS, _KIND, _NAME = 16, 17, 19  # width of an address; where a line's letter and its name are
_LONGEST_LINE = 1024  # KSYM_NAME_LEN is 512
_CODE = np.frombuffer(b"tTwW", np.uint8)


@dataclass(frozen=True)
class KernelFunction:
    """`module` is [kernel] or the name of a loadable module in brackets."""

    name: str
    start: int
    module: str


class KernelNames:
    """The functions of one kernel, by address."""

    def __init__(self, functions: Iterable[KernelFunction] = (), missing: str | None = None) -> None:
        self._functions = sorted(functions, key=lambda f: f.start)
        self._starts: Array = np.array([f.start for f in self._functions], np.uint64)
        self._lines, self._text = np.zeros(0, np.int64), b""  # of a table: where the function's line begins
        self.missing = missing

    @classmethod
    def read(cls, boot_id: int | None, table: Path = _KALLSYMS, boot: Path = _BOOT_ID) -> KernelNames:
        """`boot_id`: of the recording, as `boot_number` reads it; None when the log does not say."""
        if boot_id is None or boot_id != boot_number(boot):
            return cls(
                missing="kernel functions have no names: this machine is not the one recorded, or has restarted"
            )
        try:
            data = table.read_bytes()
        except OSError as error:
            return cls(missing=f"kernel functions have no names: {table}: {error.strerror}")
        starts, lines = _code_lines(data)
        if starts.tolist() == [0]:
            return cls(
                missing="kernel functions have no names: kernel.kptr_restrict hides their addresses; "
                "sysctl kernel.kptr_restrict=0, or finalise as root"
            )
        names = cls()
        inside = starts >= _KERNEL_START
        names._starts, names._lines, names._text = starts[inside], lines[inside], data
        return names

    def at(self, address: int) -> KernelFunction | None:
        """The function around an address, None when unknown."""
        row = int(np.searchsorted(self._starts, np.uint64(address), "right")) - 1
        if row < 0 or address - int(self._starts[row]) > _MOST_BYTES:
            return None
        if self._functions:
            return self._functions[row]
        line = int(self._lines[row])
        return _function(self._text[line : line + _LONGEST_LINE].partition(b"\n")[0])


def boot_number(boot: Path = _BOOT_ID) -> int | None:
    """The first 13 digits of the boot's id: what the agent writes into its log."""
    try:
        return int(boot.read_text(encoding="ascii").replace("-", "")[:13], 16)
    except (OSError, ValueError):
        return None


def _code_lines(data: bytes) -> tuple[Array, Array]:
    """Addresses of functions, rising, and where their lines begin; of aliases the first counts. A hundred thousand, of
    which a recording asks for dozens: a line is taken apart when it is asked for."""
    text = np.frombuffer(data, np.uint8)
    ends = np.append(np.flatnonzero(text == ord("\n")), len(text))
    lines = np.append(0, ends[:-1] + 1)
    lines = lines[ends - lines > _NAME]
    lines = lines[np.isin(text[lines + _KIND], _CODE)]
    digits = text[lines[:, None] + np.arange(_ADDRESS)]
    half = np.where(digits >= ord("a"), digits - (ord("a") - 10), digits - ord("0")).astype(np.uint8)
    big_endian = (half[:, 0::2] << 4) | half[:, 1::2]
    starts, first = np.unique(np.ascontiguousarray(big_endian).view(">u8").ravel(), return_index=True)
    return starts.astype(np.uint64), lines[first]


def _function(line: bytes) -> KernelFunction:
    """`ffffffff81000000 T _stext` or `ffffffffc0000000 t init [ext4]`."""
    words = line.decode(errors="replace").split()
    return KernelFunction(words[2], int(words[0], 16), words[3] if len(words) > 3 else "[kernel]")
