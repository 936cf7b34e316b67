"""Optimizer steps, zero_grad and backward passes: the phases of training and its step boundaries.

Optimizer steps come from torch's own global hooks, so every optimizer class counts,
also those of other packages. A step that a GradScaler leaves out (its gradients were not finite) ends a
training step as well. Backward passes are seen where `Tensor.backward`,
`torch.autograd.backward` and `grad` all meet the engine. Inner calls (an optimizer in an
optimizer, reentrant checkpointing) belong to the outer one.

Every hook first asks whether dynamo traces it: dynamo answers that itself, so nothing of ours gets into a
graph. Each costs a microsecond or less, hence the flat code; in a run of very short steps most have no
phases recorded (see `Pace`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sonde.record.frameworks.torch.inside import hooks, tensors
from sonde.record.inside.events import BACKWARD, OPTIMIZER, TRAIN_STEP, ZERO_GRAD
from sonde.record.inside.patch import wrap
from sonde.record.inside.session import now_ns
from sonde.record.inside.steps import SHORT_NS

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation

# So many backward passes and no optimizer: the program updates its weights by hand, and a backward pass ends its steps.
BY_HAND = 8


def observe(torch: Any, seen: Observation) -> None:
    """Install the hooks."""
    _optimizers(torch, seen)
    _zero_grad(torch, seen)
    _scalers(torch, seen)
    _backward(torch, seen)


def dynamo_traces(torch: Any) -> Any:
    """The question whether dynamo is tracing the caller; False whenever it is really run."""
    return getattr(torch.compiler, "is_dynamo_compiling", torch.compiler.is_compiling)


def _optimizers(torch: Any, seen: Observation) -> None:
    traced = dynamo_traces(torch)
    local, new_thread, windows, next_number = seen.local, seen.thread, seen.windows, seen.next_number

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if traced():
            return
        try:
            thread = local.state
        except AttributeError:
            thread = new_thread()
        if thread.quiet:
            if id(optimizer) in thread.steps.members:
                return
            thread.quiet = 0  # another optimizer has taken over
        thread.optimizers += 1
        if thread.optimizers == 1:
            thread.started_ns = start = now_ns()
            if thread.steps.ends_cycle != id(optimizer):
                thread.steps.optimizer_started(id(optimizer), start)
            if windows.is_open and windows.wants_tensors(thread):
                found = json.dumps(tensors.listing(optimizer))
                seen.session.mark("tensors", "", now_ns(), now_ns(), extra="," + found[1:-1])

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if traced():
            return
        end = now_ns()
        try:
            thread = local.state
        except AttributeError:  # attached in the middle of this step
            thread = new_thread()
        steps = thread.steps
        if thread.quiet:
            if id(optimizer) == steps.ends_cycle:
                thread.record(TRAIN_STEP, steps.start_ns, end, next_number(), -1)
                thread.quiet = thread.quiet - 1 if end - steps.start_ns < SHORT_NS else 0
                thread.stepped += 1
                steps.start_ns = end
        elif thread.optimizers > 1:
            thread.optimizers -= 1
        elif thread.started_ns >= 0:
            thread.record(OPTIMIZER, thread.started_ns, end, 0, 0)
            thread.optimizers, thread.started_ns = 0, -1
            thread.stepped += 1
            began = steps.start_ns
            steps.optimizer_finished(id(optimizer), end)
            if end - began < SHORT_NS and not steps.cycle:
                thread.quiet = thread.pace.quiet_steps(end - began, windows.unwatched(thread))
                windows.skipped(thread, thread.quiet)

    try:
        hooks.add(torch, "pre", before, seen.session.late)
        hooks.add(torch, "post", after, seen.session.late)
    except hooks.NoHooks as error:
        seen.session.lose("no_optimizer_hooks", 1, "processes", str(error))


def _zero_grad(torch: Any, seen: Observation) -> None:
    traced = dynamo_traces(torch)
    local, new_thread, windows = seen.local, seen.thread, seen.windows

    def make(original: Any) -> Any:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            if traced():
                return original(self, *args, **kwargs)
            try:
                thread = local.state
            except AttributeError:
                thread = new_thread()
            if windows.pending:
                windows.safe_point(thread)
            elif thread.quiet:
                return original(self, *args, **kwargs)
            # An optimizer step that ended in an exception is over by now.
            thread.optimizers = 0
            start = now_ns()
            if thread.steps.start_ns < 0:
                thread.steps.start_ns = start
            try:
                return original(self, *args, **kwargs)
            finally:
                thread.record(ZERO_GRAD, start, now_ns(), 0, 0)

        return zero_grad

    wrap(torch.optim.Optimizer, "zero_grad", make)


def _scalers(torch: Any, seen: Observation) -> None:
    """A scaler that finds infinities does not call the optimizer: the batch is over all the same."""
    scaler = getattr(getattr(torch, "amp", None), "GradScaler", None)

    def make(original: Any) -> Any:
        def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            thread = seen.thread()
            start, stepped = now_ns(), thread.stepped
            result = original(self, optimizer, *args, **kwargs)
            if thread.stepped == stepped and not thread.optimizers:
                end = now_ns()
                thread.steps.optimizer_started(id(optimizer), start)
                thread.record(OPTIMIZER, start, end, 0, 0)
                thread.steps.optimizer_finished(id(optimizer), end)
            return result

        return step

    if scaler is not None:
        wrap(scaler, "step", make)


def _backward(torch: Any, seen: Observation) -> None:
    traced = dynamo_traces(torch)
    local, new_thread, windows = seen.local, seen.thread, seen.windows

    def make(original: Any) -> Any:
        def run_backward(*args: Any, **kwargs: Any) -> Any:
            if traced():
                return original(*args, **kwargs)
            try:
                thread = local.state
            except AttributeError:
                thread = new_thread()
            if thread.in_backward:
                return original(*args, **kwargs)
            if windows.pending:
                windows.safe_point(thread)
            elif thread.quiet:
                return original(*args, **kwargs)
            start = now_ns()
            steps = thread.steps
            if steps.start_ns < 0:
                steps.start_ns = start
            thread.in_backward = True
            try:
                return original(*args, **kwargs)
            finally:
                thread.in_backward = False
                steps.backwards += 1
                end = now_ns()
                thread.record(BACKWARD, start, end, 0, 0)
                if steps.backwards > BY_HAND and not steps.trained and not thread.compiled:
                    windows.step_ended(thread, end)

        return run_backward

    # The engine call that backward and grad share is there since torch 2.3.
    if not wrap(torch.autograd, "_engine_run_backward", make):
        wrap(torch.autograd, "backward", make)
        wrap(torch.autograd, "grad", make)
