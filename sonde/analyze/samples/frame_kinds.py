"""What kind of work a frame stands for: computing, copying, allocating, dispatching, Python.

In: layer, name and library of a frame. Out: one of `KINDS`. Names decide, because math libraries
are linked into libtorch_cpu; the library decides where the name says nothing. A frame that
fits nowhere is "other": it is not guessed.
"""

from __future__ import annotations

import re

import numpy as np

from sonde.columns import Array, Table

KINDS = ("kernel", "fault", "copy", "allocation", "dispatch", "binding", "python", "system", "other")
CODE = {name: code for code, name in enumerate(KINDS)}

_FAULT = re.compile(r"page_fault|handle_mm_fault|do_user_addr_fault|clear_page|do_anonymous_page|clear_huge")
_COPY = re.compile(
    r"^_*(?:memcpy|memmove|memset|mempcpy|bcopy)(?:_|$|@)|^_*mem(?:cpy|set|move)_(?:avx|sse|erms)"
)
_ALLOCATION = re.compile(
    r"^(?:_*(?:GI_+)?(?:libc_)?(?:malloc|calloc|realloc|free|cfree|memalign|posix_memalign|aligned_alloc)|_int_\w+"
    r"|_mid_memalign|unlink_chunk|malloc_consolidate|sysmalloc|systrim|tcache_\w+|arena_get\w*|mmap(?:64)?|_*munmap"
    r"|_*brk|sbrk|_*madvise|operator (?:new|delete)|je_\w+|tc_\w+|mi_\w+)(?:$|[\[@.(])"
    r"|c10::(?:alloc_cpu|free_cpu|impl::.*Alloc|.*Allocator|StorageImpl)|mkl_serv_(?:allocate|deallocate|malloc|free)"
)
_LIBRARY = re.compile(
    r"^(?:mkl_(?:blas|vml|lapack|dft|sparse)|mm_|vs[a-z]+_cout_rare|dnnl::impl::cpu::|cblas_|[sdcz]gemm|[a-z]*openblas"
    r"|gemm_|fbgemm|xnn_|qnnp|Sleef_|ideep::|arm_compute|arm_gemm|kai_|ggml_|cpp_fused|triton_|oneapi::mkl)"
)
_TORCH_KERNEL = re.compile(
    r"at::native::|at::vec::|at::TensorIteratorBase::(?:serial_)?for_each|c10::function_ref::callback_fn"
    r"|at::internal::invoke_parallel|std::_Function_handler::_M_invoke|mxnet::op::|mshadow::"
)
_BINDING = re.compile(
    r"^torch::(?:autograd::THP\w+|PythonArgParser|FunctionSignature|ParameterParser)|^THP\w+|^pybind11::"
)
_DISPATCH = re.compile(
    r"^(?:at::_ops::|c10::|at::(?:redispatch|meta|functorch|autocast|Tensor)|torch::(?:autograd|jit|ADInplace|profiler))"
)
_MATH_LIBRARIES = re.compile(
    r"^lib(?:mkl|openblas|blas|lapack|dnnl|mkldnn|arm_compute|xnnpack|m\.so|svml|sleef|cublas|cudnn)"
)
_PYTHON_LIBRARIES = re.compile(r"^(?:libpython|python)")


def frame_kind(layer: str | None, name: str | None, library: str | None) -> str:
    """The kind of one frame."""
    name, library = name or "", library or ""
    if layer in ("jit", "gpu"):
        return "kernel"
    if layer == "kernel":
        return "fault" if _FAULT.search(name) else "system"
    if layer in ("python", "module"):
        return "python"
    if layer == "op":
        return "dispatch"
    if layer == "label":
        return "other"
    for pattern, kind in (
        (_COPY, "copy"),
        (_ALLOCATION, "allocation"),
        (_LIBRARY, "kernel"),
        (_TORCH_KERNEL, "kernel"),
    ):
        if pattern.search(name):
            return kind
    if _BINDING.search(name):
        return "binding"
    if _MATH_LIBRARIES.match(library):
        return "kernel"
    if _DISPATCH.search(name):
        return "dispatch"
    if library.startswith("libtorch_python"):
        return "binding"
    return "python" if _PYTHON_LIBRARIES.match(library) else "other"


def frame_kinds(frames: Table) -> Array:
    """Code of each frame's kind (`KINDS[code]`), in row order."""
    rows = zip(
        frames.text("layer").tolist(),
        frames.text("name").tolist(),
        frames.text("library").tolist(),
        strict=True,
    )
    return np.array([CODE[frame_kind(*row)] for row in rows], np.int64)
