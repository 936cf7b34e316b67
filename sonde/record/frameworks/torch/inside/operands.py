"""Inside a window: what large tensors hold that a line of the program names: nearly only zeros, or denormal numbers.

Enters: lines of the user's that are done. Leaves, per line and operand (`rows`), where there is something to say:
    operand     its name in the text, as `adjacency` or `self.traces`; `shape`
    zeros       share of a sample of its numbers that are zero; denormal: share that is too small to be normal
    looked      numbers in the sample
    same        whether another step had the same sample
A sample is a thousand numbers, evenly spread, read where they lie. A line is looked at twice in a window, and a window
looks at few tensors: one look takes some 50 µs.
"""

from __future__ import annotations

import ctypes
import dis
import math
from types import CodeType, FrameType
from typing import Any

FEWEST_NUMBERS = 1 << 16
SAMPLE = 1024
MOST_LOOKS, LOOKS_PER_LINE = 80, 2  # in a window
LEAST_ZEROS, LEAST_DENORMAL = 0.9, 0.01
SMALLEST_NORMAL = {"torch.float32": 1.1754943508222875e-38, "torch.float64": 2.2250738585072014e-308}
_TYPES: dict[str, Any] = {"torch.float32": ctypes.c_float, "torch.float64": ctypes.c_double}
_LOADS = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
_MEMBERS = ("LOAD_ATTR", "LOAD_METHOD")
Path = tuple[str, ...]


class Operands:
    """Tensors that lines name."""

    def __init__(self, tensors: tuple[type, ...], strided: Any) -> None:
        self._tensors, self._strided = tensors, strided
        self._paths: dict[CodeType, dict[int, tuple[Path, ...]]] = {}
        self._looks = 0
        self._of_line: dict[tuple[CodeType, int], tuple[int, int]] = {}  # looks, and the step of the last
        self._step = 0
        self._found: dict[tuple[CodeType, int, Path], dict[str, Any]] = {}
        self._samples: dict[tuple[CodeType, int, Path], int] = {}

    def step(self) -> None:
        """A step is over."""
        self._step += 1

    def done(self, frame: FrameType, line: int) -> None:
        """A line is done; what it named is still there, unless the line itself gave the name to something else."""
        if self._looks >= MOST_LOOKS:
            return
        code = frame.f_code
        looks, last = self._of_line.get((code, line), (0, -1))
        if looks >= LOOKS_PER_LINE or last == self._step:
            return
        self._of_line[code, line] = (looks + 1, self._step)
        paths = self._paths.get(code)
        if paths is None:
            paths = self._paths[code] = named_operands(code)
        mine = paths.get(line)
        if not mine:
            return
        scope, outer = frame.f_locals, frame.f_globals
        for path in mine:
            value = scope.get(path[0], outer.get(path[0]))
            for name in path[1:]:
                value = member(value, name)
            if type(value) in self._tensors:
                self._look(value, (code, line, path))

    def rows(self) -> list[tuple[str, int, dict[str, Any]]]:
        """File, line and what was found."""
        return [
            (code.co_filename, line, {"operand": ".".join(path), **told})
            for (code, line, path), told in self._found.items()
            if told["zeros"] >= LEAST_ZEROS or told["denormal"] >= LEAST_DENORMAL
        ]

    def _look(self, value: Any, key: tuple[CodeType, int, Path]) -> None:
        try:
            if value.layout is not self._strided or value.device.type != "cpu":
                return
            kind, shape = str(value.dtype), tuple(value.shape)
            count = math.prod(shape)
            if count < FEWEST_NUMBERS or kind not in _TYPES or not is_dense(shape, value.stride()):
                return
            pointer = value.data_ptr()
            if not pointer:
                return
            self._looks += 1
            apart = spread(count, shape)
            numbers = (_TYPES[kind] * count).from_address(pointer)[::apart]
        except Exception:  # a tensor of a transform
            return
        least = SMALLEST_NORMAL[kind]
        sample, known = hash(tuple(numbers)), self._samples.get(key)
        self._samples[key] = sample
        told = {
            "shape": list(shape),
            "zeros": round(sum(not one for one in numbers) / len(numbers), 4),
            "denormal": round(sum(-least < one < least and one != 0 for one in numbers) / len(numbers), 4),
            "looked": len(numbers),
            "same": known == sample,
        }
        before = self._found.get(key)
        if before is not None:  # of two looks the one that says less of zeros, and more of denormals
            told["zeros"] = min(told["zeros"], before["zeros"])
            told["denormal"] = max(told["denormal"], before["denormal"])
        self._found[key] = told


def named_operands(code: CodeType) -> dict[int, tuple[Path, ...]]:
    """For each line the names, and the members of names, that it reads."""
    found: dict[int, list[Path]] = {}
    line = code.co_firstlineno
    path: Path = ()
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None and instruction.starts_line is not True:
            line = instruction.starts_line
        line = getattr(instruction, "line_number", None) or line  # from Python 3.13 on
        name = instruction.argval
        if isinstance(name, tuple) and instruction.opname.startswith("LOAD_FAST"):
            for one in name:  # two in one, from Python 3.13 on
                found.setdefault(line, []).append((one,))
            path = (name[-1],)
        elif instruction.opname in _LOADS and isinstance(name, str):
            path = (name,)
            found.setdefault(line, []).append(path)
        elif instruction.opname in _MEMBERS and path and len(path) < 3 and isinstance(name, str):
            path = (*path, name)
            found.setdefault(line, []).append(path)
        else:
            path = ()
    return {at: tuple(dict.fromkeys(paths)) for at, paths in found.items()}


def member(value: Any, name: str) -> Any:
    """An attribute, without running any code of the program's."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    if type(held) is not dict:
        return None
    for kept in (held, held.get("_parameters"), held.get("_buffers"), held.get("_modules")):
        if type(kept) is dict and name in kept:
            return kept[name]
    return None


def is_dense(shape: tuple[int, ...], steps: tuple[int, ...]) -> bool:
    """Whether the numbers lie without gaps, in whichever order of the dimensions."""
    expected = 1
    for step, length in sorted(zip(steps, shape, strict=True)):
        if length != 1 and step != expected:
            return False
        expected *= length
    return True


def spread(count: int, shape: tuple[int, ...]) -> int:
    """Distance between the numbers of a sample: one that meets all columns."""
    apart = max(count // SAMPLE, 1) | 1
    while any(length > 1 and math.gcd(apart, length) > 1 for length in shape) and apart < count // 64:
        apart += 2
    return apart
