"""Inside a window: how often each line of the program runs in a step, and whether what it makes is the same every time.

Enters: each line of a followed frame when it is done, each call of a module. Leaves, per line and window (`rows`):
    visits   how often the line ran in each step
    seen     in how many steps, of this window and those before, its values could be read; `distinct`: how many differ
    large    these are no single numbers: that they are equal by chance is unlikely
    text     the line makes strings: no tensor operator can do its work
    padded   share of the positions that are padding, where a module gets ids or a mask
    twice    calls of a module with inputs that it had, or has later, in the same step
Values are read where they lie, at some places only, and never leave the process: what is kept are hashes, what is
written are these counts. No operator runs, no reference is kept.
"""

from __future__ import annotations

import ctypes
import dis
import itertools
import math
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from sonde.record.frameworks.torch.inside.operands import Operands
from sonde.record.frameworks.torch.inside.repeats import Repeats

MOST_VISITS = 12  # of a line in a step: what later ones make is not looked at
WHOLE_BYTES = 1 << 14  # a tensor up to this size is read whole
PIECES, PIECE_BYTES = 16, 256  # of a larger one
MOST_ITEMS, MOST_DEPTH = 6, 3  # of a list, and of lists in lists
MOST_ROWS, SHORTEST_ROW, MOST_POSITIONS = 16, 8, 1 << 16  # of ids and masks
MOST_ATTRIBUTES = 24  # of an object
MANY = 64
KEPT = 64  # hashes of a line, over all windows
_STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
_PLAIN = (int, float, bool, str, bytes, complex)

_earlier: dict[tuple[CodeType, int], list[int]] = {}  # hashes of steps in windows before


class Line:
    """What is known of one line in the open window."""

    __slots__ = ("hashed", "known", "large", "now", "padded", "text", "twice", "visits")

    def __init__(self) -> None:
        self.visits: list[int] = []
        self.now = 0  # visits in the step under way
        self.hashed = 0  # of what they made
        self.known = False  # whether all of it could be read
        self.twice = 0
        self.text = self.large = False
        self.padded = -1.0


class Values:
    """Follows what a `LineTrace` sees."""

    def __init__(self, torch: Any, is_users: Callable[[str], bool]) -> None:
        self.repeats = Repeats(self.hash_of, torch.is_grad_enabled, is_users)
        self._tensors = (torch.Tensor, torch.nn.Parameter)
        self._strided = torch.strided
        self._is_users = is_users
        self._operands = Operands(self._tensors, torch.strided)
        self._stores: dict[CodeType, dict[int, tuple[str, ...]]] = {}
        self.lines: dict[tuple[CodeType, int], Line] = {}
        self._steps = 0
        self._large = False  # whether the values read last hold many numbers
        self._plain = (*_PLAIN, type(None), torch.dtype, torch.device, torch.layout)
        self._calls: dict[
            int, tuple[CodeType, int]
        ] = {}  # hash of (module, inputs) in this step → line of the call

    def done(self, frame: FrameType, number: int, returned: Any = None) -> None:
        """Line `number` of the frame is done; `returned` is what the frame gives back, when it was its last."""
        if number < 0:
            return  # the frame was entered only now
        code = frame.f_code
        line = self.lines.get((code, number))
        if line is None:
            line = self.lines[code, number] = Line()
            line.visits = [0] * self._steps
        line.now += 1
        if line.now == 1 and self._is_users(code.co_filename):
            self._operands.done(frame, number)
        if line.now > MOST_VISITS:
            return
        stores = self._stores.get(code)
        if stores is None:
            stores = self._stores[code] = stored_names(code)
        names = stores.get(number, ())
        if not names and returned is None:
            return
        found: list[int | None] = []
        self._large = False
        if names:
            scope = frame.f_locals
            for name in names:
                value = scope.get(name)
                line.text = line.text or is_text(value)
                found.append(self._hash(value, 0))
        if returned is not None:
            found.append(self._hash(returned, 0))
        if line.now == 1:
            line.hashed, line.known = 0, True
        if None in found:
            line.known = False
        else:
            line.hashed = hash((line.hashed, *found))
            line.large = line.large or self._large

    def called(
        self, under_way: list[tuple[FrameType, int]], module: Any, outermost: bool, args: Any, kwargs: Any
    ) -> None:
        """A module is called from the last of the followed frames."""
        named = [*zip(_parameters(module), args, strict=False), *kwargs.items()]
        self.repeats.entered(module, named, under_way)
        if not under_way:
            return
        frame = under_way[-1][0]
        padded = max((self._padding(module, name, value) for name, value in named), default=-1.0)
        here = (frame.f_code, frame.f_lineno)
        twice: list[tuple[CodeType, int]] = []
        if outermost:
            inputs = [self._hash(value, 0) for _, value in named]
            if inputs and None not in inputs:
                key = hash((id(module), *inputs))
                if key in self._calls:
                    twice = [self._calls[key], here]
                self._calls[key] = here
        for at in twice or ([here] if padded > 0 else []):
            line = self.lines.setdefault(at, Line())
            line.visits = line.visits or [0] * self._steps
            line.padded = max(line.padded, padded)
            line.twice += len(twice) > 0

    def step(self) -> None:
        """A step is over."""
        for key, line in self.lines.items():
            line.visits.append(line.now)
            if line.now and line.known:
                kept = _earlier.setdefault(key, [])
                if len(kept) < KEPT:
                    kept.append(hash((line.now, line.hashed)))
            line.now, line.known = 0, False
        self._steps += 1
        self._calls.clear()
        self.repeats.step()
        self._operands.step()

    def rows(self) -> list[tuple[str, int, dict[str, Any]]]:
        """File, line and what is known, of lines that say something."""
        found = self.repeats.rows() + self._operands.rows()  # first: of lines there may be more than are kept
        for (code, number), line in self.lines.items():
            told: dict[str, Any] = {"visits": line.visits[-8:]}
            kept = _earlier.get((code, number), ())
            if len(kept) > 1:
                told["seen"], told["distinct"] = len(kept), len(set(kept))
                told["large"] = line.large
            if line.text:
                told["text"] = True
            if line.padded > 0:
                told["padded"] = round(line.padded, 3)
            if line.twice:
                told["twice"] = line.twice
            if len(told) > 1 or max(line.visits, default=0) > 1:
                found.append((code.co_filename, number, told))
        return found

    # Values -----------------------------------------------------------------------

    def hash_of(self, value: Any) -> int | None:
        """A number that equal values share, None and what modules return included; None where it cannot be read."""
        return self._hash(value, 1)

    def _hash(self, value: Any, depth: int) -> int | None:
        """A number that equal values share; None where the value cannot be read."""
        kind = type(value)
        if kind in (self._plain if depth else _PLAIN):
            return hash((kind.__name__, value))
        try:
            if kind in self._tensors:
                return self._of_tensor(value)
            if kind.__name__ == "ndarray" and kind.__module__ == "numpy":
                self._large = self._large or value.size >= MANY
                if not value.flags.c_contiguous or value.dtype.hasobject:
                    return None
                return hash((value.shape, str(value.dtype), _content(value.ctypes.data, value.nbytes)))
            if depth >= MOST_DEPTH:
                return None
            if isinstance(value, dict):  # a model's output is one of a class of its own
                value = [*itertools.chain(*itertools.islice(dict.items(value), MOST_ITEMS)), len(value)]
            elif not isinstance(value, (list, tuple)):
                value = _attributes(value)
                parts = [None] if value is None else [self._hash(item, depth + 1) for item in value]
                return None if None in parts else hash(tuple(parts))
            size = len(value)
            self._large = self._large or size >= MANY
            some = [*value[:MOST_ITEMS], *value[-1:]] if size > MOST_ITEMS else value
            parts = [self._hash(item, depth + 1) for item in some]
            return None if None in parts else hash((size, *parts))
        except Exception:  # a tensor of a transform, a list that another thread changes
            return None

    def _of_tensor(self, value: Any) -> int | None:
        if value.layout is not self._strided or value.device.type != "cpu":
            return None
        size, shape, steps = value.element_size(), tuple(value.shape), value.stride()
        pointer = value.data_ptr()
        count = math.prod(shape)
        if not count:
            return hash((shape, str(value.dtype)))
        if not pointer:
            return None
        self._large = self._large or count >= MANY
        if value.is_contiguous():
            return hash((shape, str(value.dtype), _content(pointer, count * size)))
        parts = []
        for piece in range(PIECES):
            at, rest = pointer, piece * (count - 1) // (PIECES - 1)
            for length, step in zip(reversed(shape), reversed(steps), strict=True):
                at += rest % length * step * size
                rest //= length
            parts.append(ctypes.string_at(at, size))
        return hash((shape, str(value.dtype), *parts))

    def _padding(self, module: Any, name: str, value: Any) -> float:
        """Share of the positions at the ends of rows that hold one and the same value; -1 where that means nothing."""
        if type(value) not in self._tensors or value.dim() != 2 or value.is_floating_point():
            return -1.0
        is_ids = "ids" in name or "token" in name or type(module).__name__.startswith("Embedding")
        if "type" in name or not ("mask" in name or "pad" in name or is_ids):
            return -1.0
        rows, length = value.shape
        if length < SHORTEST_ROW or rows == length or rows * length > MOST_POSITIONS:
            return -1.0
        if value.device.type != "cpu" or not value.is_contiguous():
            return -1.0
        try:
            width = length * value.element_size()
            rows = min(rows, MOST_ROWS)
            raw = ctypes.string_at(value.data_ptr(), rows * width)
        except Exception:
            return -1.0
        return padded_share([raw[n * width : (n + 1) * width] for n in range(rows)], value.element_size())


def padded_share(rows: list[bytes], size: int) -> float:
    """Share of positions in runs of one value at the same end of the rows; that value must be the same in all."""
    whole = sum(len(row) for row in rows)
    best = 0
    for end in (False, True):
        ran, values = 0, set()
        for row in rows:
            elements = [row[at : at + size] for at in range(0, len(row), size)]
            if end:
                elements.reverse()
            run = next((n for n, one in enumerate(elements) if one != elements[0]), 0)
            if run > 1:  # a row of one value has no padding, and one position is no run
                ran += run * size
                values.add(elements[0])
        if len(values) == 1:
            best = max(best, ran)
    return best / whole if whole else 0.0


def stored_names(code: CodeType) -> dict[int, tuple[str, ...]]:
    """For each line the names that it assigns."""
    found: dict[int, list[str]] = {}
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None and instruction.starts_line is not True:
            line = instruction.starts_line
        line = getattr(instruction, "line_number", None) or line  # from Python 3.13 on
        if instruction.opname in _STORES and isinstance(instruction.argval, str):
            found.setdefault(line, []).append(instruction.argval)
    return {at: tuple(names) for at, names in found.items()}


def is_text(value: Any) -> bool:
    """A string, or a list that begins with one."""
    if type(value) in (list, tuple) and value:
        value = value[0]
    return type(value) is str


def _content(pointer: int, size: int) -> int:
    if size <= WHOLE_BYTES:
        return hash(ctypes.string_at(pointer, size)) if size else 0
    last = size - PIECE_BYTES
    return hash(
        tuple(ctypes.string_at(pointer + last * n // (PIECES - 1), PIECE_BYTES) for n in range(PIECES))
    )


class _Plain:
    """An object that has attributes and nothing else."""


def _attributes(value: Any) -> list[Any] | None:
    """All that an object of a plain Python class holds; None where it may hold more, or is a module."""
    kind = type(value)
    if kind.__basicsize__ != _Plain.__basicsize__ or kind.__itemsize__:
        return None
    members = vars(value)
    if not 0 < len(members) <= MOST_ATTRIBUTES or "_parameters" in members:
        return None
    return [id(kind), *itertools.chain(*members.items())]


def _parameters(module: Any) -> list[str]:
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    if code is None:
        return [""] * 64
    names = list(code.co_varnames[1 : code.co_argcount])
    return names + [""] * 64
