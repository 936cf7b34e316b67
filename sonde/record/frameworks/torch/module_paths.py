"""raw/PID.modules.jsonl: the path of an nn.Module from its address.

An address may stand for several modules over time (reuse) and a module for several
paths (shared, or under two roots such as DDP and the bare model), so a question names the
moment, and the root whose call is under way where that is known.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from sonde.ingest.agent.modules import module_names


class ModulePaths:
    """Answers for one process."""

    def __init__(self) -> None:
        # (root, pointer) → times and paths, in order of time.
        self._of_root: dict[tuple[int, int], tuple[list[int], list[str]]] = {}
        self._of_pointer: dict[int, tuple[list[int], list[str]]] = {}

    @staticmethod
    def read(path: Path) -> ModulePaths:
        """Read the file; missing or torn files give fewer answers, never an error."""
        paths = ModulePaths()
        for one in module_names(path):
            paths.add(one.time_ns, one.pointer, one.name, one.root)
        return paths

    def add(self, time_ns: int, pointer: int, path: str, root: int) -> None:
        """The module at `pointer` is called `path` under `root` from `time_ns` on; first path wins."""
        histories = (
            self._of_root.setdefault((root, pointer), ([], [])),
            self._of_pointer.setdefault(pointer, ([], [])),
        )
        for times, names in histories:
            if not times or times[-1] != time_ns:
                times.append(time_ns)
                names.append(path)

    def path(self, pointer: int, time_ns: int, root: int = 0) -> str | None:
        """The path at that moment; for a module named only later, its first name."""
        found = self._of_root.get((root, pointer)) or self._of_pointer.get(pointer)
        if found is None:
            return None
        times, names = found
        return names[max(bisect_right(times, time_ns) - 1, 0)]
