"""torch.compile: keep our code out of graphs, and note what the compiler did.

Leaves marks of kind "compile", made after each compilation and at exit from what dynamo and
Inductor keep anyway:
    name of the compiled function (or "backward"), with start and end of its compilation; extra: compile_id,
        file, line, recompile_reason (the guard that failed), graph_breaks, ops, cache_hits, …
    "graph_break": extra reason, file, line of the program
    "kernel": extra kernel (cpp_fused_gelu_0, extern_kernels.addmm), library (its .so), wrapper (the generated
        .py), direction, fused (operators), sources (lines), …; see inductor_code.py
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from sonde.record.frameworks.torch.inside.inductor_code import InductorCode
from sonde.record.inside import SONDE, observation
from sonde.record.inside.session import now_ns

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation

# What a compilation's own record is asked for, and how a mark calls it.
FACTS = {
    "compile_id": "compile_id",
    "co_filename": "file",
    "co_firstlineno": "line",
    "recompile_reason": "recompile_reason",
    "num_graph_breaks": "graph_breaks",
    "graph_op_count": "ops",
    "fail_reason": "fail_reason",
    "inductor_fx_local_cache_hit_count": "cache_hits",
    "inductor_fx_local_cache_miss_count": "cache_misses",
    "aotautograd_local_cache_hit_count": "aot_cache_hits",
    "dynamo_cumulative_compile_time_us": "dynamo_us",
    "aot_autograd_cumulative_compile_time_us": "aot_us",
    "inductor_cumulative_compile_time_us": "inductor_us",
}


def observe(dynamo: Any) -> None:
    """`torch._dynamo` has just been imported."""
    _stay_out_of_graphs()
    if observation.current is not None:
        notes = CompileNotes(observation.current)
        observation.current.session.on_exit.insert(0, notes.collect)
        _after_each_compilation(notes)


def _stay_out_of_graphs() -> None:
    from torch._dynamo import trace_rules

    # As with torch.nn itself: a frame of ours is never compiled on its own (it would be
    # compiled to the nothing that it is while tracing), yet inlined where traced code calls it.
    trace_rules.add("sonde")
    inlined = getattr(trace_rules, "BUILTIN_INLINE_WHEN_CALLED", None)
    if inlined is not None:
        trace_rules.BUILTIN_INLINE_WHEN_CALLED = type(inlined)([*inlined, SONDE])


def _after_each_compilation(notes: CompileNotes) -> None:
    """Dynamo keeps its last 64 compilations only, so look after each."""
    try:
        from torch._dynamo.callback import callback_handler

        callback_handler.register_start_callback(lambda *_: notes.code.watch())
        callback_handler.register_end_callback(lambda *_: notes.collect())
    except (ImportError, AttributeError):
        pass  # an older torch: what it still has at exit is noted


class CompileNotes:
    """Writes each compilation, graph break and kernel once."""

    def __init__(self, seen: Observation) -> None:
        self._seen = seen
        self._known: set[Any] = set()
        self._breaks = 0
        self.code = InductorCode()

    def collect(self) -> None:
        """Write what is new. Never raises: the program is in the middle of a compilation."""
        for part in (self._compilations, self._graph_breaks, self._kernels):
            try:
                part()
            except Exception as error:
                detail = f"{part.__name__}: {type(error).__name__}: {error}"
                self._seen.session.lose("compile_not_noted", 1, "events", detail)

    def _compilations(self) -> None:
        from torch._dynamo.utils import get_compilation_metrics

        offset = time.time_ns() - now_ns()
        for metrics in get_compilation_metrics():
            start_us, end_us = getattr(metrics, "start_time_us", None), getattr(metrics, "end_time_us", None)
            key = (metrics.compile_id, start_us, metrics.co_name)
            if key in self._known or not start_us or not end_us:
                continue
            self._known.add(key)
            extra = {ours: getattr(metrics, theirs, None) for theirs, ours in FACTS.items()}
            name = metrics.co_name or ("forward" if getattr(metrics, "is_forward", False) else "backward")
            self._mark(name, start_us * 1000 - offset, end_us * 1000 - offset, extra)

    def _graph_breaks(self) -> None:
        from torch._dynamo.utils import graph_break_reasons

        new = graph_break_reasons[self._breaks :]
        self._breaks = len(graph_break_reasons)
        for found in new:
            place = found.user_stack[-1] if found.user_stack else None
            extra = {
                "reason": found.reason,
                "file": place.filename if place else None,
                "line": place.lineno if place else -1,
            }
            self._mark("graph_break", now_ns(), now_ns(), extra)

    def _kernels(self) -> None:
        codecache = sys.modules.get("torch._inductor.codecache")
        modules = getattr(getattr(codecache, "PyCodeCache", None), "modules", [])
        for module in list(modules.values() if isinstance(modules, dict) else modules):
            if module.__file__ in self._known:
                continue
            self._known.add(module.__file__)
            for facts in self.code.kernels(module):
                self._mark("kernel", now_ns(), now_ns(), facts)

    def _mark(self, name: str, start_ns: int, end_ns: int, extra: dict[str, Any]) -> None:
        given = {key: value for key, value in extra.items() if value is not None}
        text = json.dumps(given)[1:-1]
        self._seen.session.mark("compile", name, start_ns, end_ns, extra="," + text if text else "")
