"""Which frames are machinery: the interpreter's call path, dispatchers, thread starts.

They stay in every stack; views hide them by default because they stand between a caller and
what it meant to call. A function that does work of its own (list.sort, malloc) is no machinery.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NATIVE = re.compile(
    r"^(?:"
    r"_?PyEval_\w+|_PyEval_EvalFrameDefault|_TAIL_CALL_\w+|_?PyObject_(?:Vector|Fast|Make)?[Cc]all\w*"
    r"|_?PyObject_MakeTpCall|_?PyImport_\w+|import_find_and_load|import_name|exec_code_in_module"
    r"|_?PyObject_Call\w*|_?PyFunction_\w*|_?PyVectorcall_\w+|_?PyCFunction_\w+|_PyStack_\w+"
    r"|(?:method|cfunction|partial|classmethod|slot|type|property|wrap|func|wrapper|object)_(?:vectorcall|call|tp)\w*"
    r"|slot_\w+|vectorcall_\w+|object_vacall|cfunction_\w+|method_vectorcall\w*|wrapperdescr_\w+|builtin_exec"
    r"|gen_(?:send|iternext)\w*|PyIter_Send|Py_(?:Run|Bytes)Main|pymain_\w+|_?PyRun_\w+|run_(?:mod|eval)\w*|pyrun_\w+"
    r"|builtin___build_class__|thread_run|pythread_wrapper|Py_Main|_start|__libc_start\w*|start_thread"
    r"|__?clone3?|gomp_thread_start|GOMP_(?:parallel|task|taskloop)\w*|__kmp\w+|execute_native_thread_routine"
    r"|sonde::.*|c10::(?:Dispatcher|impl|KernelFunction|BoxedKernel|detail|guts|function_ref|OperatorHandle)\b.*"
    r"|c10::TypedOperatorHandle.*|at::_ops::.*|at::redispatch::.*|at::wrapper_\w+|torch::autograd::THPVariable_\w+"
    r"|torch::autograd::VariableType::.*|torch::ADInplaceOrView::.*|at::AutocastMode.*|torch::TraceType::.*"
    r"|std::(?:_Function_\w+|function|__invoke|invoke|__detail|_Bind|thread|apply|__apply)\w*(?:::.*)?"
    r"|std::call_once.*|pybind11::(?:detail|cpp_function).*"
    r")$"
)
_PYTHON_FILES = re.compile(
    r"(?:^<frozen (?:importlib|runpy|zipimport)|/torch/nn/modules/module\.py$|/runpy\.py$"
    r"|/sonde/(?:record|integrations)/"
    r"|/torch/_dynamo/eval_frame\.py$|/torch/utils/_contextlib\.py$)"
)
# Functions that only pass a call on: decorators of optimizers, the way into autograd's engine.
_PASSING_ON = {
    "/torch/optim/optimizer.py": ("wrapper", "_use_grad", "maybe_fallback"),
    "/torch/_compile.py": ("inner",),
    "/torch/_dynamo/decorators.py": ("wrapper", "inner"),
    "/torch/autograd/__init__.py": ("backward",),
    "/torch/autograd/graph.py": ("_engine_run_backward",),
}
_PYTHON_NAMES = re.compile(r"(?:^|\.)(?:_wrapped_call_impl|_call_impl|_bootstrap|_bootstrap_inner|__call__)$")


@lru_cache(maxsize=65536)
def native_is_runtime(short_name: str, library: str) -> bool:
    """By the short name; everything of Sonde's own library is machinery."""
    if library.startswith("libsonde_agent") or (short_name == "main" and library.startswith("python")):
        return True
    return _NATIVE.match(short_name) is not None


@lru_cache(maxsize=65536)
def python_is_runtime(name: str, file: str) -> bool:
    if file.endswith("/torch/nn/modules/module.py"):
        return _PYTHON_NAMES.search(name) is not None
    if file.endswith("/threading.py"):
        # 3.10 has no qualified names.
        return name.removeprefix("Thread.") in ("_bootstrap", "_bootstrap_inner")
    at = file.rfind("/torch/")
    if at >= 0 and name.rpartition(".")[2] in _PASSING_ON.get(file[at:], ()):
        return True
    return _PYTHON_FILES.search(file) is not None
