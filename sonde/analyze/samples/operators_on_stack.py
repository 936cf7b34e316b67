"""The operator that a sample's stack alone says is under way.

An operator's frame is on the stack earlier and longer than the profiler's record of the call: arguments are
parsed and boxed and the profiler's own `begin_op` runs before the start is stamped (2 to 20 µs), and the
end is stamped before the call returns. By the stack the call is under way once its kernel is entered: the frame
below the dispatcher is the kernel's. Nothing here looks at a clock, so it can check the join by time.
"""

from __future__ import annotations

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.nesting import nearest
from sonde.columns import Table, Text

_TOWARDS_KERNEL = (
    "at::_ops::",
    "c10::Dispatcher::call",
    "c10::Dispatcher::redispatch",
    "torch::autograd::THPVariable_",
)
_KERNEL = (
    "c10::impl::wrap_kernel_functor",
    "c10::impl::make_boxed",
    "c10::impl::BoxedKernel",
    "c10::BoxedKernel",
    "c10::KernelFunction",
    "at::native::",
    "torch::autograd::VariableType",
    "torch::ADInplaceOrView",
)


def entered_operators(samples: Table, stacks: Table, frames: Table) -> Text:
    """Name of the innermost operator whose kernel is on each sample's stack, null when there is none."""
    names, layer = frames.text("name"), frames.text("layer")
    values = [name or "" for name in names.tolist()]
    is_op = layer.equals("op").tolist()
    towards = [op or name.startswith(_TOWARDS_KERNEL) for name, op in zip(values, is_op, strict=True)]
    kernel = [name.startswith(_KERNEL) for name in values]
    frame = rows_of(frames.array("frame"), stacks.array("frame")).tolist()
    parent = rows_of(stacks.array("stack"), stacks.array("parent")).tolist()
    entered, called = [-1] * len(frame), [-1] * len(frame)  # codes of names; `called`: only machinery since
    for node in np.argsort(stacks.array("depth"), kind="stable").tolist():
        above, here = parent[node], frame[node]
        before = called[above] if above >= 0 else -1
        entered[node] = entered[above] if above >= 0 else -1
        if is_op[here]:
            called[node] = int(names.codes[here])
        elif before >= 0 and kernel[here]:
            entered[node] = before
        elif before >= 0 and towards[here]:
            called[node] = before
    at = rows_of(stacks.array("stack"), samples.array("stack"))
    codes = np.where(at >= 0, np.array([*entered, -1], np.int32)[at], -1)
    return Text(codes.astype(np.int32), names.values)


def stack_operators(samples: Table, stacks: Table, frames: Table) -> Text:
    """Name of the innermost operator frame on each sample's stack, null when there is none."""
    is_op = frames.text("layer").equals("op")
    frame = rows_of(frames.array("frame"), stacks.array("frame"))
    names = frames.text("name")
    own = np.where((frame >= 0) & is_op[np.maximum(frame, 0)], names.codes[np.maximum(frame, 0)], -1)
    parent = rows_of(stacks.array("stack"), stacks.array("parent"))
    innermost = nearest(parent, own >= 0)
    codes = np.where(innermost >= 0, own[innermost], -1) if len(own) else own
    at = rows_of(stacks.array("stack"), samples.array("stack"))
    return Text(np.append(codes, -1)[at].astype(np.int32), names.values)
