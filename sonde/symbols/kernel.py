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
        self._starts = [f.start for f in self._functions]
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
        functions = list(_functions(text))
        if functions and not any(f.start for f in functions):
            return cls(
                missing="kernel functions have no names: kernel.kptr_restrict hides their addresses; "
                "sysctl kernel.kptr_restrict=0, or finalise as root"
            )
        return cls(functions)

    def at(self, address: int) -> KernelFunction | None:
        """The function around an address, None when unknown."""
        row = bisect_right(self._starts, address) - 1
        if row < 0 or address - self._starts[row] > _MOST_BYTES:
            return None
        return self._functions[row]


def boot_number(boot: Path = _BOOT_ID) -> int | None:
    """The first 13 digits of the boot's id: what the agent writes into its log."""
    try:
        return int(boot.read_text(encoding="ascii").replace("-", "")[:13], 16)
    except (OSError, ValueError):
        return None


def _functions(text: str) -> Iterable[KernelFunction]:
    """Lines are `ffffffff81000000 T _stext` or `ffffffffc0000000 t init [ext4]`; of aliases the first counts."""
    seen: set[int] = set()
    hidden = False
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or words[1] not in "tTwW":
            continue
        start = int(words[0], 16)
        if start in seen and (start or hidden):
            continue
        if start and start < _KERNEL_START:
            continue  # per-CPU data, offsets
        seen.add(start)
        hidden |= start == 0
        yield KernelFunction(words[2], start, words[3] if len(words) > 3 else "[kernel]")
