"""Give rows of both sides one name: through fusion, instruction sets, renames and moved lines.

In: the profiles of both sides. Out: `Matching`, which renames the sheets of each side and knows
why. Side A's names are kept; what side B calls differently is mapped to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.compare.fusion import Fused, fusion_groups
from sonde.compare.profile import Profile
from sonde.compare.renames import Function, Seen, moved_lines, renamed_functions
from sonde.compare.sheet import Sheet
from sonde.compare.variants import variant_names


@dataclass
class Matching:
    """Per dimension: name → common name, and a note for the common name."""

    of_a: dict[str, dict[str, str]] = field(default_factory=dict)
    of_b: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: dict[tuple[str, str], str] = field(default_factory=dict)

    def a(self, sheet: Sheet | None) -> Sheet | None:
        return self._renamed(sheet, self.of_a)

    def b(self, sheet: Sheet | None) -> Sheet | None:
        return self._renamed(sheet, self.of_b)

    def note(self, dimension: str, name: str) -> str:
        return self.notes.get((dimension, name), "")

    @staticmethod
    def _renamed(sheet: Sheet | None, table: Mapping[str, Mapping[str, str]]) -> Sheet | None:
        names = table.get(sheet.dimension) if sheet is not None else None
        return sheet.renamed(lambda name: names.get(name, name)) if sheet is not None and names else sheet


def match(a: list[Profile], b: list[Profile]) -> Matching:
    """How names of the two sides correspond."""
    found = Matching()
    _fusion(a, b, found)
    _variants(a, b, found)
    left, right = _functions(a), _functions(b)
    renamed = renamed_functions(left, right)
    for function, seen in right.items():
        old = renamed.get(function, function)
        shift = moved_lines(left[old].lines, seen.lines) if old in left else 0
        _lines(function, old, seen, shift, found)
    return found


def _fusion(a: list[Profile], b: list[Profile], found: Matching) -> None:
    """Kernels of torch.compile that only one side has meet the operators that they contain."""
    kernels_a, kernels_b = _fused(a), _fused(b)
    if not kernels_a and not kernels_b:
        return
    groups = fusion_groups(_names(a, "op"), _names(b, "op"), kernels_a, kernels_b)
    found.of_a["op"] = found.of_b["op"] = groups
    for label in set(groups.values()):
        found.notes["op", label] = "fused"


def _variants(a: list[Profile], b: list[Profile], found: Matching) -> None:
    """Kernels for another instruction set are the same function."""
    names = variant_names(_names(a, "kernel"), _names(b, "kernel"))
    if names:
        found.of_a["kernel"] = found.of_b["kernel"] = names
        for label in set(names.values()):
            found.notes["kernel", label] = "variant"


def _fused(side: list[Profile]) -> Fused:
    return {kernel: ops for p in side for kernel, ops in p.fused.items()}


def _names(side: list[Profile], dimension: str) -> set[str]:
    return {n for p in side for (d, _), sheet in p.sheets.items() if d == dimension for n in sheet.names}


def _functions(side: list[Profile]) -> dict[Function, Seen]:
    merged: dict[Function, Seen] = {}
    for profile in side:
        for function, seen in profile.functions.items():
            into = merged.setdefault(function, Seen())
            into.callees |= seen.callees
            for line, weight in seen.lines.items():
                into.lines[line] = into.lines.get(line, 0.0) + weight / len(side)
    return merged


def _lines(function: Function, old: Function, seen: Seen, shift: int, found: Matching) -> None:
    """Name function and lines of side B as side A does, keeping both names in sight."""
    file, name = function
    if old != function:
        common = f"{old[0]} {old[1]} → {name}"
        found.of_a.setdefault("function", {})[f"{old[0]} {old[1]}"] = common
        found.of_b.setdefault("function", {})[f"{file} {name}"] = common
        found.notes["function", common] = "renamed?"
    if old == function and not shift:
        return
    for line in seen.lines:
        before = f"{old[0]}:{line - shift} {old[1]}"
        moved = f"→{line}" if shift else ""
        renamed = f" → {name}" if old != function else ""
        common = f"{old[0]}:{line - shift}{moved} {old[1]}{renamed}"
        found.of_a.setdefault("line", {})[before] = common
        found.of_b.setdefault("line", {})[f"{file}:{line} {name}"] = common
        found.notes["line", common] = "renamed?" if renamed else "moved"
        if shift:
            plain = f"{old[0]}:{line - shift}{moved}"
            found.of_a.setdefault("op line", {})[f"{old[0]}:{line - shift}"] = plain
            found.of_b.setdefault("op line", {})[f"{file}:{line}"] = plain
            found.notes["op line", plain] = "moved"
