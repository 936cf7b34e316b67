"""Optimizer steps, zero_grad and backward passes: the phases of training and its step boundaries.

Optimizer steps come from torch's own global hooks, so every optimizer class counts,
also those of other packages. Backward passes are seen where `Tensor.backward`,
`torch.autograd.backward` and `grad` all meet the engine. Inner calls (an optimizer in an
optimizer, reentrant checkpointing) belong to the outer one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sonde.record.observe import tensors
from sonde.record.observe.patch import wrap
from sonde.record.observe.session import now_ns

if TYPE_CHECKING:
    from sonde.record.observe.install import Observation


def observe(torch: Any, seen: Observation) -> None:
    """Install the hooks."""
    _optimizers(torch, seen)
    _backward(torch, seen)


def _optimizers(torch: Any, seen: Observation) -> None:
    try:
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )
    except ImportError:
        seen.session.lose(
            "no_optimizer_hooks", 1, "processes", f"torch {torch.__version__} has no optimizer step hooks"
        )
        return
    is_compiling = torch.compiler.is_compiling
    open_steps: dict[tuple[int, int], int] = {}  # (tid, optimizer) → start
    depth: dict[int, int] = {}  # tid → optimizer steps under way

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():  # traced into a graph: nothing of ours may be in it
            return
        thread = seen.thread()
        start = now_ns()
        depth[thread.tid] = depth.get(thread.tid, 0) + 1
        if depth[thread.tid] == 1:
            thread.steps.optimizer_started(id(optimizer), start)
            if seen.windows.wants_tensors(thread):
                found = json.dumps(tensors.listing(optimizer))
                seen.session.mark("tensors", "", now_ns(), now_ns(), extra="," + found[1:-1])
        open_steps[thread.tid, id(optimizer)] = start

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            return
        end = now_ns()
        thread = seen.thread()
        start = open_steps.pop((thread.tid, id(optimizer)), -1)
        depth[thread.tid] = depth.get(thread.tid, 1) - 1
        if start < 0 or depth[thread.tid] > 0:
            return
        seen.session.phase(b"optimizer", start, end, thread.tid)
        thread.steps.optimizer_finished(id(optimizer), end)

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)

    def make_zero_grad(original: Any) -> Any:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(self, *args, **kwargs)
            thread = seen.thread()
            if seen.windows.pending:
                seen.windows.safe_point(thread)
            start = now_ns()
            thread.steps.saw(start)
            try:
                return original(self, *args, **kwargs)
            finally:
                seen.session.phase(b"zero_grad", start, now_ns(), thread.tid)

        return zero_grad

    wrap(torch.optim.Optimizer, "zero_grad", make_zero_grad)


def _backward(torch: Any, seen: Observation) -> None:
    busy: set[int] = set()
    is_compiling = torch.compiler.is_compiling

    def make(original: Any) -> Any:
        def run_backward(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(*args, **kwargs)
            thread = seen.thread()
            if thread.tid in busy:
                return original(*args, **kwargs)
            if seen.windows.pending:
                seen.windows.safe_point(thread)
            start = now_ns()
            thread.steps.saw(start)
            busy.add(thread.tid)
            try:
                return original(*args, **kwargs)
            finally:
                busy.discard(thread.tid)
                thread.steps.backward()
                seen.session.phase(b"backward", start, now_ns(), thread.tid)

        return run_backward

    seen.session.on_fork.append(busy.clear)
    # The engine call that backward and grad share is there since torch 2.3.
    if not wrap(torch.autograd, "_engine_run_backward", make):
        wrap(torch.autograd, "backward", make)
        wrap(torch.autograd, "grad", make)
