"""Calls of functions that went through torch.compile: a phase of their own.

An optimizer that is part of a compiled function calls no hooks, since nothing of ours may be in a graph; the call of
the function is then what shows where steps end (`sonde.ingest.observers.found_steps`). Compiled modules are modules
and need nothing from here. What torch.compile gave the program stays reachable: the wrapper carries its attributes.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any

from sonde.record.frameworks.torch.inside.training import dynamo_traces
from sonde.record.inside.events import COMPILED
from sonde.record.inside.patch import wrap
from sonde.record.inside.session import now_ns

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation


def observe(torch: Any, seen: Observation) -> None:
    """Wrap what torch.compile returns for functions."""
    traced = dynamo_traces(torch)
    local, new_thread, windows = seen.local, seen.thread, seen.windows

    def make(original: Any) -> Any:
        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            result = original(model, *args, **kwargs)
            # Without a function it returns a decorator, which comes back here with one.
            return timed(result) if model is not None and isinstance(result, FunctionType) else result

        return compile

    def timed(function: Any) -> Any:
        @functools.wraps(function)
        def compiled(*args: Any, **kwargs: Any) -> Any:
            if traced():
                return function(*args, **kwargs)
            try:
                thread = local.state
            except AttributeError:
                thread = new_thread()
            if thread.in_compiled:
                return function(*args, **kwargs)
            if windows.pending:
                windows.safe_point(thread)
            start = now_ns()
            thread.steps.saw(start)
            thread.in_compiled = thread.compiled = True
            try:
                return function(*args, **kwargs)
            finally:
                thread.in_compiled = False
                end = now_ns()
                thread.record(COMPILED, start, end, id(function), 1)
                if windows.follows_modules and not thread.steps.trained:
                    windows.module_called(thread, id(function), end)

        return compiled

    wrap(torch, "compile", make)
