"""The kind of work of a stack, by what stands innermost on it, and of a sample, by its state first."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.account.kinds import CODES, KERNELS, KINDS, NAMES, OVERHEAD, WAITS, operator_kind
from sonde.analyze.account.places import places_of
from sonde.analyze.account.stack_kinds import kind_of_samples, kind_of_stacks, kinds_of_stacks
from sonde.analyze.samples.stack_index import StackIndex
from sonde.store import build
from tests.fixtures.walk import Stacks

USER = ("python", "step", {"file": "/home/u/train.py", "line": 7})
TORCH: dict[str, object] = {"library": "libtorch_cpu.so"}
LOOP = ("native", "at::native::AVX2::vectorized_loop", TORCH)
LAMBDA = ("native", "c10::function_ref::callback_fn", TORCH)
GEMM = ("native", "mkl_blas_avx512_sgemm_kernel_0", TORCH)


def kind(*frames: tuple[str, str, dict[str, object]]) -> str:
    stacks = Stacks()
    node = -1
    for layer, name, more in frames:
        node = stacks.push(node, layer, name, **more)
    tables = stacks.tables()
    return str(NAMES[kind_of_stacks(StackIndex(*tables))[node]])


def of_work(*frames: tuple[str, str, dict[str, object]]) -> str:
    """The kind for the sake of the line that the work is done for."""
    stacks = Stacks()
    node = -1
    for layer, name, more in frames:
        node = stacks.push(node, layer, name, **more)
    return str(NAMES[kinds_of_stacks(StackIndex(*stacks.tables()))[1][node]])


def numpy(name: str) -> tuple[str, str, dict[str, object]]:
    return ("native", name, {"library": "_multiarray_umath.cpython-311-x86_64-linux-gnu.so"})


def standard(name: str, file: str) -> tuple[str, str, dict[str, object]]:
    return ("python", name, {"file": f"/usr/lib/python3.11/{file}", "line": 3})


def op(name: str) -> tuple[str, str, dict[str, object]]:
    return ("op", name, {})


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ((USER, ("native", "_PyEval_EvalFrameDefault", {"library": "python3.11"})), "python"),
        ((USER, ("native", "sre_ucs1_match", {"library": "python3.11"})), "python"),
        ((USER, op("aten::addmm"), GEMM), "arithmetic"),
        ((USER, op("aten::add"), LOOP), "memory"),
        ((USER, op("aten::copy_"), LOOP), "copies"),
        ((USER, op("aten::index_select"), LOOP), "gather"),
        ((USER, op("aten::bernoulli_"), LOOP), "random"),
        ((USER, op("aten::add"), ("native", "at::_ops::add_Tensor::call", TORCH)), "dispatch"),
        ((USER, ("native", "torch::autograd::Engine::evaluate_function", TORCH)), "autograd"),
        ((USER, op("aten::empty"), ("native", "_int_malloc", {"library": "libc.so.6"})), "allocation"),
        ((USER, op("aten::add"), LOOP, ("kernel", "clear_page_erms", {})), "allocation"),
        ((USER, ("native", "gc_collect_main", {"library": "python3.11"})), "gc"),
        ((USER, ("native", "builtin_print", {"library": "python3.11"})), "io"),
        ((USER, ("python", "save", {"file": "/x/site-packages/torch/serialization.py", "line": 3})), "io"),
        (
            (
                USER,
                (
                    "python",
                    "__next__",
                    {"file": "/x/site-packages/torch/utils/data/dataloader.py", "line": 3},
                ),
            ),
            "loading",
        ),
        ((USER, ("python", "extract", {"file": "/usr/lib/python3.11/traceback.py", "line": 3})), "debugging"),
        ((USER, ("native", "gloo::allreduce", TORCH)), "communication"),
        # Kernels whose function is not called one: the loop around the elements tells, and a worker's name.
        (
            (
                USER,
                op("aten::binary_cross_entropy"),
                ("native", "at::native::binary_cross_entropy_out_cpu", TORCH),
                ("native", "at::TensorIteratorBase::serial_for_each", TORCH),
                LAMBDA,
                ("native", "__log1pf", {"library": "libm.so.6"}),
            ),
            "memory",
        ),
        (
            (
                USER,
                op("aten::mm"),
                op("aten::_sparse_addmm"),
                ("native", "at::native::s_addmm_out_sparse_dense_worker", TORCH),
                ("native", "at::native::DispatchStubImpl::try_get_call_ptr", TORCH),
            ),
            "arithmetic",
        ),
        (
            (
                ("native", "main", {"library": "vae"}),
                ("native", "torch::data::StatelessDataLoader::next", {"library": "vae"}),
                op("aten::select"),
                ("native", "at::_ops::select_int::call", TORCH),
            ),
            "loading",
        ),
        (
            (USER, ("python", "x", {"file": "/x/site-packages/torch/_dynamo/convert_frame.py", "line": 3})),
            "compiling",
        ),
        ((USER, ("native", "pcg64_fill", {"library": "_pcg64.cpython-311.so"})), "random"),
        ((USER, ("native", "DOUBLE_add", {"library": "_multiarray_umath.cpython-311.so"})), "memory"),
        ((USER, ("native", "ImagingResample", {"library": "_imaging.cpython-311.so"})), "native"),
    ],
)
def test_the_innermost_frames_tell_the_kind(
    frames: tuple[tuple[str, str, dict[str, object]], ...], expected: str
) -> None:
    assert kind(*frames) == expected


Frame = tuple[str, str, dict[str, object]]
PYTHON: Frame = ("native", "_PyEval_EvalFrameDefault", {"library": "libpython3.11.so.1.0"})
TENSOR_STR: Frame = ("python", "_str", {"file": "/x/site-packages/torch/_tensor_str.py", "line": 3})
PRINT: Frame = ("native", "builtin_print", {"library": "libpython3.11.so.1.0"})
FAULT: Frame = ("kernel", "exc_page_fault", {})


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ((USER, numpy("ufunc_generic_fastcall"), numpy("DOUBLE_power_X86_V4")), "arithmetic"),
        ((USER, numpy("DOUBLE_exp_AVX512_SKX"), numpy("__svml_exp8_ha")), "arithmetic"),
        ((USER, numpy("ufunc_generic_fastcall"), numpy("DOUBLE_multiply_AVX2")), "memory"),
        # One element as an object: the interpreter's work, whoever wrote the function.
        ((USER, numpy("gentype_item"), numpy("PyArray_FromScalar")), "python"),
        (
            (USER, numpy("gentype_item"), ("native", "siphash13", {"library": "libpython3.11.so.1.0"})),
            "python",
        ),
        ((USER, numpy("array_subscript"), numpy("mapiter_trivial_get")), "memory"),
        ((USER, standard("stack", "inspect.py"), PYTHON), "debugging"),
        ((USER, standard("signature", "inspect.py"), PYTHON), "python"),
        ((USER, standard("showwarning", "warnings.py"), PYTHON), "debugging"),
        ((USER, standard("catch_warnings.__enter__", "warnings.py"), PYTHON), "python"),
        ((USER, TENSOR_STR, op("aten::abs"), LOOP), "debugging"),
        ((USER, PRINT, TENSOR_STR, op("aten::abs"), LOOP), "io"),
    ],
)
def test_what_is_done_for_one_number_or_for_the_eye_is_told_from_work_on_arrays(
    frames: tuple[tuple[str, str, dict[str, object]], ...], expected: str
) -> None:
    assert kind(*frames) == expected


@pytest.mark.parametrize(
    ("frames", "in_account", "of_line"),
    [
        ((USER, op("aten::addmm"), GEMM, FAULT), "allocation", "arithmetic"),
        ((USER, op("aten::copy_"), LOOP, FAULT), "allocation", "copies"),
        ((USER, op("aten::log1p"), LOOP, ("native", "Sleef_log1pf8_u10", TORCH)), "memory", "arithmetic"),
        ((USER, op("aten::add"), LOOP), "memory", "memory"),
        (
            (
                USER,
                op("aten::addmm"),
                ("native", "dnnl_memory_desc_clone", TORCH),
                ("native", "_int_malloc", {}),
            ),
            "allocation",
            "dispatch",
        ),
        (
            (USER, op("aten::empty"), ("native", "c10::alloc_cpu", {}), ("native", "_int_malloc", {})),
            "allocation",
            "allocation",
        ),
        ((USER, TENSOR_STR, op("aten::abs"), LOOP, FAULT), "debugging", "debugging"),
    ],
)
def test_fresh_pages_of_a_result_are_the_work_of_who_writes_it(
    frames: tuple[tuple[str, str, dict[str, object]], ...], in_account: str, of_line: str
) -> None:
    assert (kind(*frames), of_work(*frames)) == (in_account, of_line)


def test_a_wait_for_a_page_counts_to_the_work_as_well() -> None:
    samples = build.table("samples", stack=[0], state=["waiting"], reason=["fault"])
    arguments = (samples, np.zeros(1, np.int64), np.array([CODES["copies"]]))
    assert NAMES[kind_of_samples(*arguments)[0]] == "allocation"
    assert NAMES[kind_of_samples(*arguments, faults=False)[0]] == "copies"


def test_a_python_line_below_an_operator_is_python_again() -> None:
    """A hook or a custom backward runs inside the engine, but it is the user's own code."""
    engine = ("native", "torch::autograd::Engine::evaluate_function", TORCH)
    assert kind(USER, engine, ("python", "hook", {"file": "/home/u/train.py", "line": 3})) == "python"


def test_the_state_of_a_sample_comes_first() -> None:
    samples = build.table(
        "samples",
        stack=[0] * 8,
        state=["running", "spinning", "imbalance", *["waiting"] * 5],
        reason=[None, None, None, "gil", "io", "sleep", "preempted", "other"],
    )
    found = kind_of_samples(samples, np.zeros(8, np.int64), np.array([CODES["arithmetic"]]))
    assert [NAMES[k] for k in found] == [
        "arithmetic",
        "barriers",
        "barriers",
        "locks",
        "io",
        "sleep",
        "taken",
        "waiting",
    ]


def test_waiting_inside_a_loader_is_loading() -> None:
    samples = build.table("samples", stack=[0], state=["waiting"], reason=["lock"])
    found = kind_of_samples(samples, np.zeros(1, np.int64), np.array([CODES["loading"]]))
    assert NAMES[found[0]] == "loading"


def test_every_kind_is_in_one_group() -> None:
    grouped = [*KERNELS, *OVERHEAD, *WAITS, "loading"]
    assert sorted(grouped) == sorted(KINDS)


def test_operators_with_an_overload_have_the_same_kind() -> None:
    assert operator_kind("aten::index_put_.hacked_twin") == "gather"
    assert operator_kind("aten::mul.Tensor") == "memory"


def test_the_line_of_a_native_program_is_no_header_of_a_library() -> None:
    """torch's headers are inlined into the program, as `Tensor::backward` is."""
    stacks = Stacks()
    main = stacks.push(-1, "native", "main", library="vae", file="/home/u/main.cpp", line=77)
    header = "/x/site-packages/torch/include/ATen/core/TensorBody.h"
    inlined = stacks.push(main, "native", "at::Tensor::backward", library="vae", file=header, line=450)
    bare = Stacks()
    function = bare.push(-1, "native", "main", library="vae")
    step = bare.push(function, "native", "train_step", library="vae")
    for tables, node, wanted in (
        (stacks.tables(), inlined, "main (main.cpp:77)"),
        (bare.tables(), step, "train_step"),
    ):
        places = places_of(StackIndex(*tables), np.ones(node + 1))
        assert places.all[places.of_stack[node]].label == wanted
