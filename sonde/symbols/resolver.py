"""Addresses of libraries → names, lazily, cached by build id.

In: a library's path and build id as recorded, and file offsets of code. Out: Resolved
per offset. A library that is gone, or that is no longer the one that ran, is answered from
the cache as far as possible and counted in `missing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sonde.symbols import elf, lines
from sonde.symbols.cache import Resolved, SymbolCache, default_folder
from sonde.symbols.kernel import KernelNames

_UNKNOWN = Resolved(-1, -1, "")


class Resolver:
    """One per analysis; remembers libraries it has seen."""

    def __init__(
        self, cache_folder: Path | None = None, use_cache: bool = True, with_lines: bool = True
    ) -> None:
        self._folder = (cache_folder or default_folder()) if use_cache else None
        self._with_lines = with_lines
        self._caches: dict[tuple[str, str | None], tuple[SymbolCache, Path | None]] = {}
        self._kernels: dict[int | None, KernelNames] = {}
        self.missing: dict[str, str] = {}  # path → why its addresses have no names

    def resolve(self, path: str, build_id: str | None, offsets: Sequence[int]) -> list[Resolved]:
        """Names for file offsets of one library, in order."""
        file = Path(path)
        opened = self._caches.get((path, build_id))
        if opened is None:
            debug = self._usable(file, build_id)
            key = (build_id or _identity(file)) + ("-lines" if debug else "")
            opened = self._caches[path, build_id] = (SymbolCache(self._folder, key), debug)
        cache, debug = opened
        known = cache.known()
        wanted = sorted({o for o in offsets if known.get(o) is None})
        if wanted and path not in self.missing:
            fresh, whole = _read(file, debug, wanted)
            cache.add(fresh, keep=whole)
        return [known.get(offset) or _UNKNOWN for offset in offsets]

    def kernel_names(self, boot_id: int | None) -> KernelNames:
        """Names of the running kernel's functions, if it is the one of the recording."""
        if boot_id not in self._kernels:
            self._kernels[boot_id] = KernelNames.read(boot_id)
        return self._kernels[boot_id]

    def _usable(self, file: Path, build_id: str | None) -> Path | None:
        """The file with DWARF, if any; notes in `missing` when the library itself cannot be used."""
        if str(file) in self.missing:
            return None
        if not file.is_file():
            self.missing[str(file)] = "the file is gone"
            return None
        present = elf.build_id(file)
        if build_id and present != build_id:
            self.missing[str(file)] = f"the file has build id {present}, {build_id} was recorded"
            return None
        return elf.debug_file(file, present) if self._with_lines else None


def _read(file: Path, debug: Path | None, offsets: list[int]) -> tuple[dict[int, Resolved], bool]:
    """What the file tells, and whether that is all: lines that could not be read now may be another time."""
    symbols = elf.resolve(file, offsets, debug if debug != file else None)
    if symbols is None:
        return {}, False
    found = lines.source_frames(debug, [s.address for s in symbols]) if debug else None
    whole = debug is None or found is not None
    sources = found or [()] * len(symbols)
    fresh: dict[int, Resolved] = {}
    for offset, symbol, frames in zip(offsets, symbols, sources, strict=True):
        start = symbol.start if symbol.source is not elf.Source.NONE else -1
        address = symbol.address if symbol.address < 1 << 63 else -1
        shown = tuple((f.function, f.file, f.line) for f in frames)
        name, near = symbol.name, ""
        if symbol.source is elf.Source.UNWIND:
            name, near = "", symbol.name
        fresh[offset] = Resolved(address, start, name or (shown[-1][0] if shown else ""), shown, near)
    return fresh, whole


def _identity(file: Path) -> str:
    """For files without a build id: path, size and time of change."""
    try:
        status = file.stat()
    except OSError:
        return f"path-{file}"
    return f"path-{file}-{status.st_size}-{status.st_mtime_ns}"
