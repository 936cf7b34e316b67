"""Native stack nodes → frames: symbol, line, JIT name or kernel function.

In: the nodes of one log with its mappings and JIT names. Out: per node (and epoch) the
frames it stands for, root first (more than one where functions are inlined), and the
operator that begins there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sonde.ingest.agent import timeline
from sonde.ingest.agent.frame_table import Frame, FrameTable
from sonde.ingest.agent.log import RawLog
from sonde.ingest.agent.runtime_names import native_is_runtime
from sonde.symbols.cache import Resolved
from sonde.symbols.kernel import KernelNames
from sonde.symbols.shorten import shorten
from sonde.symbols.torchnames import Operator, operator_of

FLAG_DECODED, FLAG_SCANNED, FLAG_EVAL, FLAG_SIGNAL, FLAG_KERNEL, FLAG_OWNER = 2, 4, 8, 16, 32, 64
EVALUATION = "_PyEval_EvalFrameDefault"


# Where the kernel hides its addresses or the machine has been started anew: one frame for all of its part.
NAMELESS_KERNEL = Frame("kernel", "(no name)", None, library="[kernel]")


class AddressNames(Protocol):
    """What `sonde.symbols.resolver.Resolver` does; tests give their own."""

    def resolve(self, path: str, build_id: str | None, offsets: Sequence[int]) -> list[Resolved]: ...

    def kernel_names(self, boot_id: int | None) -> KernelNames: ...


@dataclass(frozen=True)
class NodeFrames:
    """Frame numbers, root first, and the operator that the outermost of them begins."""

    frames: tuple[int, ...]
    operator: Operator | None
    heuristic: bool
    nameless: bool = False  # generated code of which only the place is known


class NativeFrames:
    """Frames of the native nodes of one log. Node ids are 1-based, as in the log."""

    def __init__(
        self,
        log: RawLog,
        names: AddressNames,
        table: FrameTable,
        exact: npt.NDArray[np.bool_],
    ) -> None:
        self._log = log
        self._names = names
        self._table = table
        self._kernel: KernelNames | None = None  # read when the first kernel address asks
        self._mappings = timeline.of_mappings(log.mappings)
        self._jit = timeline.of_jit(log.jit)
        self.boundaries = sorted({*self._mappings.boundaries, *self._jit.boundaries})
        # Callers are known by their return address, which may already belong to the next line or function.
        self._pc = (log.nodes.pc - np.where(exact, 0, 1).astype(np.uint64)).tolist()
        self._flags = log.nodes.flags.tolist()
        self._parent = log.nodes.parent.tolist()
        self._known: dict[tuple[int, int, int], NodeFrames] = {}  # (pc, flags, moment)
        self._by_callers: dict[tuple[int, int], NodeFrames] = {}  # (node, moment)
        self._resolved: dict[tuple[int, int], Resolved] = {}  # (mapping row, file offset)
        # The system marks files that were replaced while mapped; the build id tells which one is there.
        self._paths = [(path or "").removesuffix(" (deleted)") for path in log.mappings.path.tolist()]
        self._builds = log.mappings.build_id.tolist()
        self._prefetch()

    def ambiguous(self) -> npt.NDArray[np.bool_]:
        pc = np.array(self._pc, np.uint64)
        return self._mappings.ambiguous(pc) | self._jit.ambiguous(pc)

    def frames(self, node: int, time_ns: int) -> NodeFrames:
        """`time_ns`: a moment of the epoch that is asked about."""
        found = self._at(node, time_ns)
        if not found.nameless:
            return found
        named = self._by_callers.get((node, time_ns))
        if named is None:
            named = self._by_callers[node, time_ns] = self._by_caller(node, found, time_ns)
        return named

    def _at(self, node: int, time_ns: int) -> NodeFrames:
        key = (self._pc[node - 1], self._flags[node - 1], time_ns)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(*key)
        return found

    def _by_caller(self, node: int, found: NodeFrames, time_ns: int) -> NodeFrames:
        """Generated code that nobody named (FBGEMM's kernels, for one) is known by who called it."""
        above = self._parent[node - 1]
        while above and self._at(above, time_ns).nameless:
            above = self._parent[above - 1]
        if not above or self._flags[above - 1] & (FLAG_EVAL | FLAG_KERNEL):
            return found
        caller = self._table[self._at(above, time_ns).frames[-1]]
        if caller.full_name is None:
            return found
        frame = Frame("jit", f"generated code called by {caller.name}")
        return replace(found, frames=(self._table.number(frame),))

    def function_at(self, address: int) -> tuple[str, str]:
        """Library and short name of the function that begins at an address; empty texts when unknown."""
        place = self._place(address, timeline.BEFORE_ALL) if address else None
        if place is None:
            return "", ""
        path = self._paths[place[0]]
        if place not in self._resolved:
            self._resolved[place] = self._names.resolve(path, self._builds[place[0]], [place[1]])[0]
        return path.rpartition("/")[2], shorten(self._resolved[place].name) if self._resolved[
            place
        ].name else ""

    def kernel_name(self, node: int) -> str:
        """Of the function that a node inside the kernel stands in."""
        return self._kernel_frame(self._pc[node - 1]).name

    def _prefetch(self) -> None:
        """Asks for all addresses of a library at once: reading its symbol table is the cost."""
        wanted: dict[int, set[int]] = defaultdict(set)
        for pc in set(self._pc):
            place = self._place(pc, timeline.BEFORE_ALL)
            if place:
                wanted[place[0]].add(place[1])
        by_file: dict[tuple[str, str | None], list[tuple[int, int]]] = defaultdict(list)
        for row, offsets in wanted.items():
            by_file[self._paths[row], self._builds[row]] += [(row, offset) for offset in sorted(offsets)]
        for (path, build), places in by_file.items():
            found = self._names.resolve(path, build, [offset for _, offset in places])
            self._resolved.update(zip(places, found, strict=True))

    def _place(self, pc: int, time_ns: int) -> tuple[int, int] | None:
        """Mapping row and file offset of an address in a mapped file."""
        row = self._mappings.at(pc, time_ns)
        if row is None or not self._paths[row].startswith("/"):
            return None
        mappings = self._log.mappings
        return row, pc - int(mappings.start[row]) + int(mappings.offset[row])

    def _make(self, pc: int, flags: int, time_ns: int) -> NodeFrames:
        heuristic = bool(flags & (FLAG_DECODED | FLAG_SCANNED))
        if flags & FLAG_KERNEL:
            return NodeFrames((self._table.number(self._kernel_frame(pc)),), None, heuristic)
        place = self._place(pc, time_ns)
        if place is None:
            frame = self._outside_files(pc, time_ns)
            nameless = frame.layer == "jit" and frame.full_name is None
            return NodeFrames((self._table.number(frame),), None, heuristic, nameless)
        if place not in self._resolved:
            row, offset = place
            found = self._names.resolve(self._paths[row], self._builds[row], [offset])
            self._resolved[place] = found[0]
        known = self._resolved[place]
        if flags & FLAG_EVAL:
            # Python frames take its place: where exactly it stands in the interpreter is of no interest.
            # The agent found it by its export and its jumps: a stripped interpreter has no name for the cold part.
            known = replace(known, frames=(), name=known.name or EVALUATION)
        frames = self._library_frames(place, known)
        numbers = tuple(self._table.number(frame) for frame in frames)
        return NodeFrames(numbers, operator_of(frames[0].full_name or ""), heuristic)

    def _kernel_frame(self, pc: int) -> Frame:
        if self._kernel is None:
            self._kernel = self._names.kernel_names(self._log.statistics.get("boot_id"))
        found = self._kernel.at(pc)
        if found is None:
            return NAMELESS_KERNEL
        return Frame("kernel", found.name, found.name, library=found.module, address=_signed(found.start))

    def kernel_names_missing(self) -> str | None:
        """Why kernel frames of this log have no names; None when they have, or when there are none."""
        return self._kernel.missing if self._kernel is not None else None

    def _library_frames(self, place: tuple[int, int], known: Resolved) -> list[Frame]:
        row, offset = place
        path, build = self._paths[row], self._builds[row]
        library = path.rpartition("/")[2]
        address = known.start if known.start >= 0 else known.address if known.address >= 0 else offset
        full = known.name or None
        name = shorten(full) if full else f"{library}+{address:#x}"
        if not full and known.near:  # a stripped library: where it is, not what it is
            name += f" (after {shorten(known.near)})"
        runtime = native_is_runtime(name, library)
        if not known.frames:
            return [Frame("native", name, full, None, -1, library, build, address, False, runtime)]
        _, file, line = known.frames[-1]
        frames = [Frame("native", name, full, file, line, library, build, address, False, runtime)]
        for function, file, line in reversed(known.frames[:-1]):
            short = shorten(function)
            machinery = native_is_runtime(short, library)
            frames.append(
                Frame("native", short, function, file, line, library, build, address, True, machinery)
            )
        return frames

    def _outside_files(self, pc: int, time_ns: int) -> Frame:
        """Generated code, or a special mapping such as [vdso]."""
        row = self._jit.at(pc, time_ns)
        if row is not None:
            jit = self._log.jit
            start, end = int(jit.start[row]), int(jit.start[row]) + int(jit.size[row])
            if jit.source[row] == "region":
                return Frame(
                    "jit", jit.name[row] or f"code {start:#x}-{end:#x}", None, address=_signed(start)
                )
            name = jit.name[row] or f"code {start:#x}"
            name = shorten(name) if jit.source[row] == "functions" else name
            return Frame("jit", name, jit.name[row], address=_signed(start))
        mapping = self._mappings.at(pc, time_ns)
        path = self._paths[mapping] if mapping is not None else None
        if path:
            return Frame("native", path, path, library=path, address=_signed(pc))
        return Frame("jit", f"code {pc:#x}", None, address=_signed(pc))


def _signed(address: int) -> int:
    return address - (1 << 64) if address >= 1 << 63 else address
