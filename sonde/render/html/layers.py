"""Which kind of work a stack ends in: Python, framework, operator, compute kernel, other native code or the system.

Enters: the distinct functions of a recording. Leaves: a class per function,
and per stack node the class that its own time counts as. A function that says
nothing by itself (memcpy, a lock, an allocator) counts as its caller does.
Spinning and waiting are states of a sample and are told apart later.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.analyze.account.stack_kinds import KERNEL_NAME
from sonde.analyze.base.nesting import depths, levels
from sonde.columns import Array

# Order is the order of the codes in the page (web/src/data/model.ts).
CLASSES = ("python", "framework", "operator", "kernel", "other", "system")
NEUTRAL = -1
PYTHON, FRAMEWORK, OPERATOR, KERNEL, OTHER, SYSTEM = range(6)

_KERNEL_NAME = re.compile(KERNEL_NAME + r"|nnpack|(?-i:^v[ms]*[sd][A-Z])|^v[sd]\w+_cout_rare")
_OPERATOR_NAME = re.compile(r"^at::(native|_ops|meta|cpu)\b|^at::empty|TensorIterator|^at::TensorBase")
_FRAMEWORK_NAME = re.compile(r"^(c10|torch|at|THP\w*|pybind11|caffe2)(::|_)|THPVariable|mxnet::|^MX[A-Z]")
_FRAMEWORK_LIBRARY = re.compile(r"^(libtorch|libc10|libcaffe2|_C\.|libmxnet|libjax|libtensorflow)")
_KERNEL_LIBRARY = re.compile(r"^(libmkl|libdnnl|libopenblas|libblis|libcudnn|libcublas)")
_PYTHON_LIBRARY = re.compile(r"^(libpython|python[\d.]*$|pypy)")
_PLAIN_LIBRARY = re.compile(
    r"^(libc[.-]|libm[.-]|ld-|libpthread|libstdc|libgcc|libgomp|libiomp|libomp|lib\w*alloc|\[)"
)


# Worth seeing although the interpreter runs it: garbage collection, start and end of the program.
_TELLING = re.compile(r"^(_?PyGC|gc_|_?Py_Finalize|Py_RunMain|pymain)")


# How autograd, the dispatcher and the bindings get to an operator, not what the operator does.
_PLUMBING = re.compile(
    r"^(THPEngine_|THPVariable_|torch::autograd::(python::PythonEngine|Engine|ReadyQueue|Node::operator|CppNode)"
    r"|torch::autograd::(generated|VariableType|ADInplaceOrView)|(non-virtual )?thunk to torch::autograd"
    r"|c10::(Dispatcher|OperatorHandle|TypedOperatorHandle|KernelFunction|BoxedKernel|impl::)|at::_ops::"
    r"|at::redispatch::|pybind11::)"
)


def is_interpreter(layer: str, name: str, library: str) -> bool:
    """Native frames of the interpreter, autograd's engine and the dispatcher: how code is run, not what it does."""
    if layer != "native" or _TELLING.search(name):
        return False
    return bool(_PYTHON_LIBRARY.search(library) or _PLUMBING.search(name))


def function_class(layer: str, name: str, library: str) -> int:
    """The class that a function's own time counts as; NEUTRAL when its caller decides."""
    if layer in ("python", "module"):
        return PYTHON
    if layer == "op":
        return OPERATOR
    if layer in ("jit", "gpu"):
        return KERNEL
    if layer == "label":
        return NEUTRAL
    if layer == "kernel":
        return SYSTEM
    if _PLAIN_LIBRARY.search(library):
        return NEUTRAL
    if _PYTHON_LIBRARY.search(library):
        return PYTHON
    if _KERNEL_LIBRARY.search(library) or _KERNEL_NAME.search(name):
        return KERNEL
    if _OPERATOR_NAME.search(name):
        return OPERATOR
    if _FRAMEWORK_LIBRARY.search(library) or _FRAMEWORK_NAME.search(name):
        return FRAMEWORK
    return OTHER if library else NEUTRAL


def stack_classes(parent: Array, own: Array) -> Array:
    """Class of each stack node; framework code below an operator belongs to that operator."""
    result = own.astype(np.int64)
    in_op = own == OPERATOR
    for rows in levels(depths(parent)):
        inner = rows[parent[rows] >= 0]
        above = parent[inner]
        in_op[inner] |= in_op[above]
        result[inner] = np.where(result[inner] == NEUTRAL, result[above], result[inner])
    result[result == NEUTRAL] = OTHER
    result[in_op & (result == FRAMEWORK)] = OPERATOR
    return result
