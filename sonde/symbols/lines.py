"""Source lines and inlined functions from DWARF, by the tool that the system has.

llvm-symbolizer or addr2line do the reading (both follow .debug_info of the file given).
Where neither is installed, or the file has no debug information, names stay without lines.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TIMEOUT_S = 120
_LOCATION = re.compile(r"^(.*?):(\d+|\?)(?::\d+)?(?: \(discriminator \d+\))?$")


@dataclass(frozen=True)
class SourceFrame:
    """A function at an address, possibly inlined into the next one of the list."""

    function: str  # demangled
    file: str | None
    line: int


def source_frames(debug_path: Path, addresses: Sequence[int]) -> list[tuple[SourceFrame, ...]] | None:
    """For each virtual address the frames there, innermost first; empty tuples where nothing is known.

    None when there is no tool, or it failed or took too long.
    """
    command = _tool()
    if command is None:
        return None
    asked = "".join(f"{a:#x}\n" for a in addresses)
    try:
        result = subprocess.run(
            [*command, "-e", str(debug_path)],
            input=asked,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse(result.stdout, len(addresses))


def parse(text: str, count: int) -> list[tuple[SourceFrame, ...]] | None:
    """addr2line's output with -a -f -i: an address line, then pairs of function and file:line."""
    groups: list[list[SourceFrame]] = []
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        if lines[i].startswith("0x"):
            groups.append([])
            i += 1
        elif groups and i + 1 < len(lines):
            frame = _frame(lines[i], lines[i + 1])
            if frame:
                groups[-1].append(frame)
            i += 2
        else:
            i += 1
    if len(groups) != count:
        return None
    return [tuple(group) for group in groups]


def _frame(function: str, place: str) -> SourceFrame | None:
    found = _LOCATION.match(place)
    file = found[1] if found and found[1] != "??" else None
    line = int(found[2]) if found and found[2] != "?" else -1
    if function == "??" or not function:
        return None
    return SourceFrame(function, file, line if line > 0 else -1)


@cache
def _tool() -> tuple[str, ...] | None:
    # llvm's is many times faster on large files; the output is the same with these options.
    for name in ("llvm-addr2line", "llvm-symbolizer", "addr2line"):
        path = shutil.which(name)
        if path is None:
            continue
        if name == "llvm-symbolizer":
            return (
                path,
                "--output-style=GNU",
                "--print-address",
                "--functions=linkage",
                "--demangle",
                "--inlining",
            )
        return (path, "-a", "-f", "-i", "-C")
    return None
