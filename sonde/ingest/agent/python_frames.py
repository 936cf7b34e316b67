"""Python stack nodes → frames with exact lines, and the modules whose calls they are."""

from __future__ import annotations

from sonde.ingest.agent.frame_table import Frame, FrameTable
from sonde.ingest.agent.log import RawLog
from sonde.ingest.agent.runtime_names import python_is_runtime
from sonde.ingest.agent.timeline import PointerTimeline
from sonde.symbols.compiled import called_kernel
from sonde.symbols.linetable import line_of

_FIRST_KNOWN_MINOR, _LAST_KNOWN_MINOR = 10, 14


class PythonFrames:
    """Frames of the Python nodes of one log. Node ids are 1-based, as in the log."""

    def __init__(self, log: RawLog, table: FrameTable, modules: PointerTimeline) -> None:
        nodes = log.python_nodes
        self._table = table
        self._modules = modules
        self._codes = nodes.code.tolist()
        self._instructions = nodes.instruction.tolist()
        self._pointers = nodes.self_pointer.tolist()
        self._names = log.codes.name.tolist()
        self._files = log.codes.file.tolist()
        self._first_lines = log.codes.first_line.tolist()
        self._line_tables = log.codes.line_table
        self._minor = minor_version(log.header.python_version)
        self._frame_of: dict[tuple[int, int], int] = {}  # (code, instruction)
        self._module_of: dict[str, int] = {}
        self._made: dict[int, Frame] = {}
        self._kernel_of: dict[int, str | None] = {}

    def frame(self, node: int) -> int:
        """Frame number of a node."""
        key = (self._codes[node - 1], self._instructions[node - 1])
        found = self._frame_of.get(key)
        if found is None:
            made = self._make(*key)
            found = self._frame_of[key] = self._table.number(made)
            self._made[found] = made
        return found

    def module(self, node: int, time_ns: int) -> int | None:
        """Frame number of the module that the node calls, None when it is no module call."""
        pointer = self._pointers[node - 1]
        path = self._modules.at(pointer, time_ns) if pointer else None
        if path is None:
            return None
        found = self._module_of.get(path)
        if found is None:
            found = self._module_of[path] = self._table.number(Frame("module", path, path))
        return found

    def kernel(self, node: int) -> str | None:
        """The compiled kernel that the node's line calls, in code that Inductor wrote."""
        frame = self.frame(node)
        if frame not in self._kernel_of:
            row = self._made[frame]
            self._kernel_of[frame] = called_kernel(row.file or "", row.line)
        return self._kernel_of[frame]

    def _make(self, code: int, instruction: int) -> Frame:
        if code <= 0 or code > len(self._names):
            return Frame("python", "unknown Python function")
        qualified = self._names[code - 1] or "?"
        file = self._files[code - 1] or "?"
        table, first_line = self._line_tables[code - 1], self._first_lines[code - 1]
        line = line_of(table, first_line, instruction, self._minor) if self._minor else first_line
        name = qualified.rpartition("<locals>.")[2]
        return Frame("python", name, qualified, file, line, runtime=python_is_runtime(qualified, file))


def minor_version(version: str) -> int:
    """3.11.7 → 11; 0 when it is none whose line tables are known."""
    parts = version.split(".")
    if len(parts) < 2 or parts[0] != "3" or not parts[1].isdigit():
        return 0
    minor = int(parts[1])
    return minor if _FIRST_KNOWN_MINOR <= minor <= _LAST_KNOWN_MINOR else 0
