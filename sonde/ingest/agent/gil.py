"""Waits for the interpreter's lock (GIL), told apart from other locks by the stack.

In: the stacks of waits that the system call says are for a lock. Out: which of them are for the GIL: the first
function above libc's waiting is one in which the interpreter takes it. In most builds that is `take_gil`
itself; where a compiler has put it into its callers, those.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sonde.ingest.agent.frame_table import Frame
from sonde.ingest.agent.stack_table import StackTable

TAKES_GIL = re.compile(
    r"^(?:take_gil|drop_gil(?:_impl)?|_?PyEval_(?:RestoreThread|AcquireThread|AcquireLock)|PyGILState_Ensure"
    r"|_PyThreadState_Attach|_Py_HandlePending|eval_frame_handle_pending)(?:\.\w+)*$"
)
_BETWEEN = re.compile(r"^(?:PyCOND_\w+|PyMUTEX_\w+)$")  # the interpreter's own names for libc's waiting
_WAITS = re.compile(r"^(?:lib(?:c|pthread)[.-]|\[kernel\]|\[vdso\])")


def waits_for_gil(
    stack: npt.NDArray[np.int32], stacks: StackTable, rows: Sequence[Frame]
) -> npt.NDArray[np.bool_]:
    """For each stack whether it waits for the GIL."""
    distinct, inverse = np.unique(stack, return_inverse=True)
    answers = np.array([_is_gil(node, stacks, rows) for node in distinct.tolist()], np.bool_)
    return answers[inverse.reshape(-1)] if len(answers) else np.zeros(len(stack), np.bool_)


def _is_gil(node: int, stacks: StackTable, rows: Sequence[Frame]) -> bool:
    for number in stacks.from_leaf(node):
        frame = rows[number]
        if not _WAITS.match(frame.library or "") and not _BETWEEN.match(frame.name):
            return frame.layer == "native" and TAKES_GIL.match(frame.name) is not None
    return False
