"""The frame that tells what ran: the innermost, unless that is a mere loop around a function object.

TensorIterator and std::function run every pointwise kernel, so as innermost frames they
name none. Then the nearest caller with a name of its own stands for the time.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.base.nesting import nearest
from sonde.columns import Array, Table

_LOOP = re.compile(
    r"^(?:c10::function_ref::\w+|at::(?:TensorIteratorBase|internal)::(?:serial_)?for_each|std::_Function_handler::_M_invoke"
    r"|at::native::(?:AVX2|AVX512|DEFAULT|SVE\d*)::(?:VectorizedLoop2d|vectorized_loop|Loop2d|cpu_kernel_vec)\b.*"
    r"|at::internal::invoke_parallel.*|at::parallel_for.*|std::function::operator\(\))$"
)


def telling_frames(stacks: Table, frames: Table) -> Array:
    """For each row of `stacks`, the row in `frames` that stands for time at its end; -1 when unknown."""
    names = frames.text("name")
    loops = np.array([bool(_LOOP.match(name)) for name in names.values] + [False], np.bool_)
    native = frames.text("layer").equals("native")
    is_loop = native & loops[names.codes]
    own = rows_of(frames.array("frame"), stacks.array("frame"))
    parent = rows_of(stacks.array("stack"), stacks.array("parent"))
    climbing = (own >= 0) & is_loop[np.maximum(own, 0)] if len(frames) else np.zeros(len(stacks), np.bool_)
    at = nearest(parent, ~climbing)
    found = np.where(at >= 0, own[np.maximum(at, 0)], -1) if len(stacks) else at
    # Nothing but loops, or an operator's label above them: the innermost frame is as good as any.
    telling = (found >= 0) & native[np.maximum(found, 0)] if len(frames) else np.zeros(len(stacks), np.bool_)
    return np.where(telling, found, own)
