"""Addresses of the kernel → names, from /proc/kallsyms.

In: an address and the boot that it was seen in. Out: function, where it starts and its kernel module.
Kernel addresses change with every boot (KASLR), so names are given only while that boot lives; and the kernel
hides them (all zero) from whom kernel.kptr_restrict forbids. Then `missing` says why there are none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_KALLSYMS = Path("/proc/kallsyms")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_KERNEL_START = 0xFFFF_8000_0000_0000
# Behind the last symbol, or in a gap as large, is no function of the kernel (freed code, JIT of BPF without name).
_MOST_BYTES = 1 << 20
_CODE = frozenset((" t ", " T ", " w ", " W "))


@dataclass(frozen=True)
class KernelFunction:
    """`module` is [kernel] or the name of a loadable module in brackets."""

    name: str
    start: int
    module: str


class KernelNames:
    """The functions of one kernel, by address."""

    def __init__(self, functions: Iterable[KernelFunction] = (), missing: str | None = None) -> None:
        self._functions: dict[int, KernelFunction | str] = {f.start: f for f in functions}
        self._starts = sorted(self._functions)
        self.missing = missing

    @classmethod
    def read(cls, boot_id: int | None, table: Path = _KALLSYMS, boot: Path = _BOOT_ID) -> KernelNames:
        """`boot_id`: of the recording, as `boot_number` reads it; None when the log does not say."""
        if boot_id is None or boot_id != boot_number(boot):
            return cls(
                missing="kernel functions have no names: this machine is not the one recorded, or has restarted"
            )
        try:
            text = table.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return cls(missing=f"kernel functions have no names: {table}: {error.strerror}")
        lines = _code_lines(text)
        if lines.keys() == {0}:
            return cls(
                missing="kernel functions have no names: kernel.kptr_restrict hides their addresses; "
                "sysctl kernel.kptr_restrict=0, or finalise as root"
            )
        names = cls()
        names._functions.update((start, line) for start, line in lines.items() if start >= _KERNEL_START)
        names._starts = sorted(names._functions)
        return names

    def at(self, address: int) -> KernelFunction | None:
        """The function around an address, None when unknown."""
        row = bisect_right(self._starts, address) - 1
        if row < 0 or address - self._starts[row] > _MOST_BYTES:
            return None
        found = self._functions[self._starts[row]]
        return _function(found) if isinstance(found, str) else found


def boot_number(boot: Path = _BOOT_ID) -> int | None:
    """The first 13 digits of the boot's id: what the agent writes into its log."""
    try:
        return int(boot.read_text(encoding="ascii").replace("-", "")[:13], 16)
    except (OSError, ValueError):
        return None


def _code_lines(text: str) -> dict[int, str]:
    """Lines of functions by address; of aliases the first counts. A hundred thousand, of which a recording
    asks for dozens: a line is taken apart when it is asked for."""
    lines = [line for line in text.split("\n") if line[16:19] in _CODE]
    found: dict[int, str] = {}
    for line in reversed(lines):
        found[int(line[:16], 16)] = line
    return found


def _function(line: str) -> KernelFunction:
    """`ffffffff81000000 T _stext` or `ffffffffc0000000 t init [ext4]`."""
    words = line.split()
    return KernelFunction(words[2], int(words[0], 16), words[3] if len(words) > 3 else "[kernel]")
