"""Inside a window: modules that are called again with the same inputs, and give the same result again.

Enters: each call of a module and its end, inner ones too; not of torch's own layers inside a model. Leaves, per module
and window (`rows`), at the line of the user's from which the work could be done once:
    calls    how often the module was called
    again    how many of these had inputs that it had had before, and gave the output that it had given
    module   its path in its root, as the names of modules have it; `class`: of the module
    within   whether the equal calls lie in one call of a module around it, at least twice
And of outermost modules, at the line that calls them: `inputs`, how many different inputs were seen.
That input and output are equal says nothing about a program that only measures one input. So a call counts only
where the call around it had other inputs, or is the very same call; an outermost one only where another model's inputs
change. Random layers give another output. Layers that count what they have seen, and recomputation in the backward
pass, do not count. Values are kept as hashes only.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

MOST_CALLS = 300  # in a step: later ones are not looked at
MOST_ARGUMENTS = 16
MOST_KNOWN = 4096  # calls with different inputs, in a window
MOST_FRAMES = 200
_LAYERS = "torch.nn.modules."
_RECOMPUTES = "utils/checkpoint.py"
Line = tuple[CodeType, int]


class Call:
    """A call under way."""

    __slots__ = ("found", "frames", "inputs", "key", "module", "serial")

    def __init__(self, module: Any, serial: int, frames: int) -> None:
        self.module = module
        self.serial = serial
        self.frames = frames  # followed frames under way when it began
        self.inputs: int | None = None
        self.key: int | None = None
        self.found: list[Found] = []  # inside it


class Found:
    """An equal call."""

    __slots__ = ("at", "common", "depth", "module", "path")

    def __init__(self, module: int, common: int, depth: int, at: Line, path: tuple[str, str]) -> None:
        self.module = module
        self.common = common  # serial of the innermost call around both; -1: none
        self.depth = depth
        self.at = at
        self.path = path


class Repeats:
    """Calls of modules on one thread."""

    def __init__(
        self,
        hashed: Callable[[Any], int | None],
        grad_enabled: Callable[[], bool],
        is_users: Callable[[str], bool],
    ) -> None:
        self._hashed, self._grad_enabled, self._is_users = hashed, grad_enabled, is_users
        self._stack: list[Call] = []
        self._serial = self._in_step = 0
        # (module, inputs) → output, and the calls around it: serial and inputs
        self._known: dict[int, tuple[int, tuple[tuple[int, int | None], ...]]] = {}
        self._calls: dict[int, int] = {}
        self._outer: dict[int, tuple[Line, set[int]]] = {}  # outermost modules: their line, different inputs
        self._found: list[Found] = []
        self._paths: dict[int, tuple[weakref.ref[Any], tuple[str, str]]] = {}

    def step(self) -> None:
        """A step is over."""
        self._in_step = 0

    def entered(
        self, module: Any, inputs: list[tuple[str, Any]], under_way: list[tuple[FrameType, int]]
    ) -> None:
        """A module is called."""
        self._serial += 1
        call = Call(module, self._serial, len(under_way))
        self._stack.append(call)
        if len(self._stack) > 1 and not module._modules and type(module).__module__.startswith(_LAYERS):
            return  # a layer of torch's own: most calls are of these, and what is around it is looked at
        self._in_step += 1
        if self._in_step > MOST_CALLS or len(inputs) > MOST_ARGUMENTS:
            return
        hashes = [self._hashed(value) for _, value in inputs]
        if None in hashes:
            return
        call.inputs = hash((*hashes, *(name for name, _ in inputs)))
        call.key = hash((id(module), call.inputs, self._grad_enabled()))
        self._calls[id(module)] = self._calls.get(id(module), 0) + 1
        if len(self._stack) == 1 and inputs:
            line = self._line(under_way, 0, len(under_way))
            if line is not None:
                self._outer.setdefault(id(module), (line, set()))[1].add(call.inputs)

    def left(self, frame: FrameType, output: Any, under_way: list[tuple[FrameType, int]]) -> None:
        """The call is over; `frame` is torch's, that made it."""
        if not self._stack:
            return  # it began before the window
        call = self._stack.pop()
        around = self._stack
        found = call.found
        result = None if call.key is None or output is None else self._hashed(output)
        if call.key is not None and result is not None:
            before = self._known.get(call.key)
            if len(self._known) < MOST_KNOWN:
                self._known[call.key] = (result, tuple((one.serial, one.inputs) for one in around))
            if before is not None and before[0] == result:
                # What is equal inside follows from this; what is done twice inside is done twice.
                found = [one for one in found if one.common >= call.serial]
                common = self._common(before[1])
                if common is not None and not _recomputed(frame) and not _counts(call.module):
                    at = self._hoisted(common, under_way)
                    if at is not None:
                        serial = around[common].serial if common >= 0 else -1
                        depth = len(around)
                        found.append(Found(id(call.module), serial, depth, at, self._path(call.module)))
        if around:
            around[-1].found += found
        else:
            self._found += found

    def rows(self) -> list[tuple[str, int, dict[str, Any]]]:
        """File, line and what is known."""
        rows: list[tuple[str, int, dict[str, Any]]] = []
        for (code, number), inputs in self._outer.values():
            rows.append((code.co_filename, number, {"inputs": len(inputs)}))
        counts: dict[tuple[int, Line], tuple[int, bool, Found]] = {}
        for one in self._found:
            if one.depth == 0 and not any(
                len(inputs) > 1 for module, (_, inputs) in self._outer.items() if module != one.module
            ):
                continue  # nothing that changes is seen: one model, measured
            again, within, _ = counts.get((one.module, one.at), (0, True, one))
            counts[one.module, one.at] = (again + 1, within and one.common >= 0, one)
        for (module, (code, number)), (again, within, one) in counts.items():
            told: dict[str, Any] = {"module": one.path[0], "class": one.path[1]}
            told |= {"calls": max(self._calls.get(module, 0), again + 1), "again": again, "within": within}
            rows.append((code.co_filename, number, told))
        return rows

    def _common(self, before: tuple[tuple[int, int | None], ...]) -> int | None:
        """Row in the stack of the innermost call around both; -1: none, but other inputs; None: it proves nothing."""
        found, changed = -1, not before and not self._stack
        for row, (one, (serial, inputs)) in enumerate(zip(self._stack, before, strict=False)):
            if one.serial == serial:
                found = row
            elif one.inputs is not None and inputs is not None and one.inputs != inputs:
                changed = True
        return found if found >= 0 or changed else None

    def _hoisted(self, common: int, under_way: list[tuple[FrameType, int]]) -> Line | None:
        """The user's line, inside the call around both, from which the module is called; else the one that calls it."""
        if common < 0:
            outermost = self._stack[0].frames if self._stack else len(under_way)
            return self._line(under_way, 0, outermost)
        for frame, line in under_way[self._stack[common].frames :]:
            if self._is_users(frame.f_code.co_filename):
                return frame.f_code, line if line > 0 else frame.f_lineno
        return self._line(under_way, 0, self._stack[common].frames)

    def _line(self, under_way: list[tuple[FrameType, int]], first: int, end: int) -> Line | None:
        for frame, line in reversed(under_way[first:end]):
            if self._is_users(frame.f_code.co_filename):
                return frame.f_code, line if line > 0 else frame.f_lineno
        return None

    def _path(self, module: Any) -> tuple[str, str]:
        """Path in its root and class, as `modules.py` writes them."""
        known = self._paths.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        root = self._stack[0].module if self._stack else module
        kind = type(module).__name__
        path = kind
        if root is not module:
            names = (name for name, one in root.named_modules(remove_duplicate=False) if one is module)
            path = next(names, kind)
        self._paths[id(module)] = (weakref.ref(module), (path, kind))
        return path, kind


def _recomputed(frame: FrameType | None) -> bool:
    """Whether the call is made by activation checkpointing, which computes twice on purpose."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            return False
        if frame.f_code.co_filename.endswith(_RECOMPUTES):
            return True
        frame = frame.f_back
    return False


def _counts(module: Any) -> bool:
    """Whether a call changes what the module knows: running means of a layer in training."""
    return any(
        one.training
        and getattr(one, "track_running_stats", False)
        and getattr(one, "running_mean", 0) is not None
        for one in module.modules()
    )
