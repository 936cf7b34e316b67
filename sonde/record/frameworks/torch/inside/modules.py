"""Outermost calls of `nn.Module`: the forward pass or an inference, and the names of its modules.

`nn.Module.__call__` is replaced by a function that does the same as torch's own three
lines and adds one look-up: is this thread inside a module call already? So an inner
call costs about 0.2 µs more, without a further Python frame. Where torch's
`__call__` is not the one we know, it is called instead, at 0.4 µs.

raw/PID.modules.jsonl names the modules of every root that was called: time_ns, pointer (the
address of the Python object), path, class. Shared modules appear once per path.
"""

from __future__ import annotations

import json
import os
from _thread import get_ident
from typing import TYPE_CHECKING, Any

from sonde import rawfolder
from sonde.record.inside.events import FORWARD, FORWARD_WITHOUT_GRAD
from sonde.record.inside.patch import replace
from sonde.record.inside.session import now_ns, quote

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation, ThreadState

KNOWN_NAMES = ("_compiled_call_impl", "_call_impl")
# Line by line where torch has them, so that a traceback reads as ever.
SAME_AS_TORCH = """\
def _wrapped_call_impl(self, *args, **kwargs):
    if not dynamo_traces() and get_ident() not in inside: return outermost(original, self, args, kwargs)
    if self._compiled_call_impl is not None: return self._compiled_call_impl(*args, **kwargs)

    return self._call_impl(*args, **kwargs)
"""
CALLS_TORCH = """\
def _wrapped_call_impl(self, *args, **kwargs):
    if not dynamo_traces() and get_ident() not in inside: return outermost(original, self, args, kwargs)
    return original(self, *args, **kwargs)
"""


def observe(torch: Any, seen: Observation) -> None:
    """Replace `nn.Module.__call__`."""
    module_class = torch.nn.Module
    original = module_class.__call__
    grad_enabled = torch.is_grad_enabled
    inside = seen.inside
    namer = ModuleNames(seen)
    local, new_thread, windows, named = seen.local, seen.thread, seen.windows, namer.known

    def outermost(call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        try:
            thread = local.state
        except AttributeError:
            thread = new_thread()
        ident = get_ident()
        burst = thread.burst
        pointer = id(module)
        if burst.left > 0 and burst.pointer == pointer:
            burst.left -= 1
            inside.add(ident)
            try:
                return call(module, *args, **kwargs)
            finally:
                inside.discard(ident)
        if windows.pending:
            windows.safe_point(thread)
        elif thread.quiet:
            inside.add(ident)
            try:
                return call(module, *args, **kwargs)
            finally:
                inside.discard(ident)
        if burst.size:
            flush(thread)
        if named.get(pointer) != (type(module), len(module._modules)):
            namer.name(module)
        start = now_ns()
        steps = thread.steps
        if steps.start_ns < 0:
            steps.start_ns = start
        inside.add(ident)
        try:
            return call(module, *args, **kwargs)
        finally:
            inside.discard(ident)
            end = now_ns()
            if steps.trained or steps.backwards:
                thread.record(FORWARD if grad_enabled() else FORWARD_WITHOUT_GRAD, start, end, pointer, 1)
            else:
                if not burst.begins(pointer, start, end):
                    thread.record(FORWARD if grad_enabled() else FORWARD_WITHOUT_GRAD, start, end, pointer, 1)
                if windows.follows_modules:
                    windows.module_called(thread, pointer, end)

    def flush(thread: ThreadState) -> None:
        """Write the calls of a burst that has ended as one record with their number."""
        burst = thread.burst
        if burst.size:
            thread.record(
                FORWARD_WITHOUT_GRAD, burst.start_ns, now_ns(), burst.pointer, burst.size - burst.left
            )
            burst.size = burst.left = 0

    def flush_all() -> None:
        for thread in seen.threads:
            flush(thread)

    seen.session.on_exit.append(flush_all)
    replace(module_class, "__call__", _entry(torch, original, inside, outermost))
    seen.session.on_fork.append(inside.clear)
    seen.session.on_fork.append(namer.forget)


def _entry(torch: Any, original: Any, inside: set[int], outermost: Any) -> Any:
    """The function to stand in for `nn.Module.__call__`.

    For torch.compile it must be torch's own: never compiled as a frame of its own, and inlined where a
    traced function calls a module, without a trace of the observers. Dynamo goes by name and file, and
    folds the first question to False; so it has the name, file and lines of the original.
    """
    code = getattr(original, "__code__", None)
    dynamo_traces = getattr(torch.compiler, "is_dynamo_compiling", torch.compiler.is_compiling)
    scope = {
        "dynamo_traces": dynamo_traces,
        "get_ident": get_ident,
        "inside": inside,
        "outermost": outermost,
        "original": original,
    }
    body = SAME_AS_TORCH if code is not None and code.co_names == KNOWN_NAMES else CALLS_TORCH
    file = code.co_filename if code is not None else __file__
    exec(compile(body, file, "exec"), scope)
    entry: Any = scope["_wrapped_call_impl"]
    if code is not None:
        entry.__code__ = entry.__code__.replace(co_firstlineno=code.co_firstlineno)
    entry.__module__ = original.__module__
    entry.__qualname__ = original.__qualname__
    return entry


class ModuleNames:
    """Writes the modules of each root once, and again when it has grown or another took its address."""

    def __init__(self, seen: Observation) -> None:
        self._seen = seen
        self.known: dict[int, tuple[type, int]] = {}  # pointer of a root → class, number of children

    def forget(self) -> None:
        self.known.clear()

    def name(self, root: Any) -> None:
        self.known[id(root)] = (type(root), len(root._modules))
        path = rawfolder.MODULES.path(self._seen.session.raw, os.getpid())
        time_ns = now_ns()
        lines = []
        try:
            # remove_duplicate=False keeps every path of a shared module.
            for name, module in root.named_modules(remove_duplicate=False):
                kind = type(module)
                lines.append(
                    f'{{"time_ns":{time_ns},"pointer":{id(module)},"path":{quote(name)},'
                    f'"class":{quote(kind.__name__)},"root":{id(root)},'
                    f'"root_class":{quote(type(root).__name__)}}}\n'
                )
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, "".join(lines).encode())
            finally:
                os.close(fd)
            self._seen.windows.root_named(len(lines))
        except Exception as error:  # modules with their own named_modules; a full disk
            self._seen.session.lose(
                "modules_not_named", 1, "events", f"{json.dumps(type(root).__name__)}: {error}"
            )
