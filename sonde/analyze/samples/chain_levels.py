"""On which level of the chain from a Python line to a kernel each stack ends.

A level is decided from the root of the stack on: a frame that says something (a user's line, a guard of
dynamo, a binding, a kernel) sets it, any other (the interpreter, a hash table, a lambda) keeps the level
of its caller. So the time of helpers belongs to the level that called them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sonde.analyze.base.grouping import rows_of
from sonde.analyze.samples.frame_kinds import frame_kind
from sonde.analyze.samples.stack_index import OBSERVERS
from sonde.columns import Array, Table

# In the order of the chain. The text is for people.
LEVELS: dict[str, str] = {
    "start": "before the program's own code",
    "python": "your Python",
    "library_python": "Python of libraries",
    "compiling": "torch.compile, compiling",
    "dynamo": "torch.compile: guards, entry",
    "aot": "torch.compile: runtime wrappers",
    "generated": "torch.compile: generated code",
    "engine": "autograd engine",
    "binding": "binding",
    "dispatcher": "dispatcher",
    "autograd": "autograd of the operator",
    "kernel": "kernel of torch",
    "library": "math library",
    "jit": "JIT kernel",
    "allocation": "allocation",
}
CODE = {name: code for code, name in enumerate(LEVELS)}

_NOT_THE_USERS = re.compile(
    r"/(?:site|dist)-packages/|" + OBSERVERS + r"|/lib/python3\.\d+/|^<frozen |^<string>$|^\?$|codegen\("
)
_COMPILER = "convert_frame|symbolic_convert|guards|output_graph|bytecode"
_INDUCTOR = "compile_fx|graph|scheduler|codecache|async_compile"
_PYTHON_LEVELS = (
    (re.compile(rf"torch/_dynamo/(?:{_COMPILER})|torch/_inductor/(?:{_INDUCTOR})"), "compiling"),
    (
        re.compile(r"/torch_?inductor[^/]*/|/c\w{40,}\.py|torch/_inductor/(?:output_code|utils|sel)"),
        "generated",
    ),
    (re.compile(r"torch/_functorch|subclass_codegen|aot_autograd"), "aot"),
    (re.compile(r"torch/_dynamo|torch/_compile"), "dynamo"),
)
_ENGINE = r"Engine|generated::|Node|AccumulateGrad|python::PythonEngine|.*::apply"
_ENTRIES = "impl::OperatorEntry|impl::wrap_kernel|impl::BoxedKernel|KernelFunction|Dispatcher"
_KERNELS = r"native|meta|detail|TensorIterator\w*|wrapper_\w+|vec|parallel|internal|structured_\w+"
_NATIVE_LEVELS = (
    (re.compile(r"^torch::dynamo::(?:_empty_strided|assert_|_reinterpret)"), "generated"),
    (re.compile(r"^(?:torch::dynamo::|dynamo_|get_backend$|lookup$)"), "dynamo"),
    (re.compile(rf"^torch::autograd::(?:{_ENGINE})"), "engine"),
    (re.compile(r"^(?:at|torch)::(?:autograd::VariableType|ADInplaceOrView|TraceType|autocast)"), "autograd"),
    (re.compile(rf"^at::(?:_ops|redispatch)::|^c10::(?:{_ENTRIES})"), "dispatcher"),
    (re.compile(rf"^at::(?:{_KERNELS})|^c10::(?:function_ref|DefaultCPUAllocator)"), "kernel"),
)
_KIND_LEVELS = {"binding": "binding", "allocation": "allocation", "kernel": "library"}


@dataclass(frozen=True)
class Levels:
    """Per row of `stacks`: its level, the innermost user line (row in `frames`) and whether it is compiled."""

    level: Array
    user: Array
    compiled: Array
    parent: Array
    frame: Array


def frame_level(layer: str | None, name: str | None, library: str | None, file: str | None) -> str | None:
    """The level that a frame sets; None when it keeps that of its caller."""
    name = name or ""
    if layer == "python":
        for pattern, level in _PYTHON_LEVELS:
            if pattern.search(file or ""):
                return level
        return "python" if is_users(file) else "library_python"
    if layer == "jit":
        return "jit"
    if layer != "native":
        return None
    for pattern, level in _NATIVE_LEVELS:
        if pattern.search(name):
            return level
    return _KIND_LEVELS.get(frame_kind(layer, name, library))


def is_users(file: str | None) -> bool:
    """Is it a file of the user's own program?"""
    return bool(file) and not _NOT_THE_USERS.search(file or "")


def stack_levels(stacks: Table, frames: Table) -> Levels:
    """Follow every stack from its root."""
    rows = zip(
        *(frames.text(c).tolist() for c in ("layer", "name", "library", "file")),
        strict=True,
    )
    level_of = [frame_level(*row) for row in rows]
    codes = np.array([-1 if level is None else CODE[level] for level in level_of] + [-1], np.int64)
    frame = rows_of(frames.array("frame"), stacks.array("frame"))
    parent = rows_of(stacks.array("stack"), stacks.array("parent"))
    set_here = codes[frame]
    through = (CODE["compiling"], CODE["dynamo"], CODE["aot"], CODE["generated"])
    level = np.zeros(len(stacks) + 1, np.int64)
    user = np.full(len(stacks) + 1, -1, np.int64)
    compiled = np.zeros(len(stacks) + 1, np.bool_)
    compiling, binding = CODE["compiling"], CODE["binding"]
    glue = np.append(frames.text("name").matches(_pybind_names(frames)), False)[frame]
    for row in np.argsort(stacks.array("depth"), kind="stable").tolist():
        above, here = parent[row], set_here[row]
        # What the compiler calls while it compiles is compiling, whatever it looks like.
        level[row] = level[above] if here < 0 or level[above] == compiling else here
        if here == binding and glue[row] and level[above] in through:
            level[row] = level[above]  # the compiler's own glue, not an operator's binding
        user[row] = frame[row] if here == CODE["python"] else user[above]
        compiled[row] = compiled[above] or here in through
    return Levels(level[:-1], user[:-1], compiled[:-1], parent, frame)


def _pybind_names(frames: Table) -> list[str]:
    return [name for name in frames.text("name").values if name.startswith("pybind11::")]
