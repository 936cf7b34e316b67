"""The dispatch chain on stacks and calls with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.samples.chain_levels import LEVELS, frame_level, stack_levels
from sonde.analyze.samples.dispatch_chain import call_chain, level_times
from sonde.columns import Table, Text
from sonde.store import build

SITE = "/venv/lib/python3.11/site-packages/torch/"


@pytest.mark.parametrize(
    ("layer", "name", "file", "level"),
    [
        ("python", "train", "/home/me/train.py", "python"),
        ("python", "Linear.forward", SITE + "nn/modules/linear.py", "library_python"),
        ("python", "compile_wrapper", SITE + "_dynamo/eval_frame.py", "dynamo"),
        ("python", "_compile", SITE + "_dynamo/convert_frame.py", "compiling"),
        ("python", "runtime_wrapper", SITE + "_functorch/_aot_autograd/runtime_wrappers.py", "aot"),
        ("python", "call", "/tmp/torchinductor_me/ab/cabc.py", "generated"),
        ("native", "torch::autograd::THPVariable_mm", None, "binding"),
        ("native", "at::_ops::mm::call", None, "dispatcher"),
        ("native", "c10::Dispatcher::callWithDispatchKeySlowPath", None, "dispatcher"),
        ("native", "torch::autograd::VariableType::mm", None, "autograd"),
        ("native", "torch::autograd::Engine::evaluate_function", None, "engine"),
        ("native", "at::native::addmm_impl_cpu_", None, "kernel"),
        ("native", "mkl_blas_def_sgemm_kernel_0_zen", None, "library"),
        ("native", "c10::alloc_cpu", None, "allocation"),
        ("jit", "jit_brgemm_kernel_t", None, "jit"),
        ("native", "_PyEval_EvalFrameDefault", None, None),
        ("native", "std::_Hashtable::find", None, None),
    ],
)
def test_a_frame_sets_the_level_or_keeps_it(
    layer: str, name: str, file: str | None, level: str | None
) -> None:
    assert frame_level(layer, name, "libtorch_cpu.so" if layer == "native" else None, file) == level


def chain_tables() -> tuple[Table, Table]:
    """train.py:7 ─ [op] mm ─ THPVariable_mm ─ _ops::mm::call ─ native::mm ─ sgemm; a hash table below dispatch."""
    rows = [
        ("python", "train", "/me/train.py", 7),
        ("op", "aten::mm", None, -1),
        ("native", "torch::autograd::THPVariable_mm", None, -1),
        ("native", "at::_ops::mm::call", None, -1),
        ("native", "at::native::mm_impl", None, -1),
        ("native", "mkl_blas_sgemm", None, -1),
        ("native", "std::_Hashtable::find", None, -1),
    ]
    layer, name, file, line = zip(*rows, strict=True)
    columns = {"layer": Text.of(layer), "name": Text.of(name), "file": Text.of(file)}
    frames = build.table("frames", frame=range(7), line=line, **columns)
    stacks = build.table(
        "stacks", stack=range(7), parent=[-1, 0, 1, 2, 3, 4, 3], frame=range(7), depth=[1, 2, 3, 4, 5, 6, 5]
    )
    return stacks, frames


def test_time_on_each_level_in_the_order_of_the_chain() -> None:
    stacks, frames = chain_tables()
    levels = stack_levels(stacks, frames)
    stack = np.array([5, 5, 6, 2, 0])
    samples = build.table("samples", time_ns=[0, 10, 20, 30, 40], weight_ns=[10] * 5)
    found = level_times(np.array([True] * 4 + [False]), samples, stack, levels, frames)
    assert [(t.level, t.ns, t.samples) for t in found] == [
        ("binding", 10, 1),
        ("dispatcher", 10, 1),  # the hash table's caller
        ("library", 20, 2),
    ]
    assert found[1].functions == ["at::_ops::mm::call", "std::_Hashtable::find"]
    assert sum(t.share for t in found) == pytest.approx(1)
    assert levels.user.tolist() == [0] * 7
    order = list(LEVELS)
    assert sorted(found, key=lambda t: order.index(t.level)) == found


def test_what_the_compiler_calls_is_compiling() -> None:
    frames = build.table(
        "frames", frame=range(3), layer=Text.of(["python", "python", "native"]),
        name=Text.of(["f", "_compile", "at::native::empty"]),
        file=Text.of(["/me/a.py", SITE + "_dynamo/convert_frame.py", None]), line=[1, 2, -1],
    )  # fmt: skip
    stacks = build.table("stacks", stack=range(3), parent=[-1, 0, 1], frame=range(3), depth=[1, 2, 3])
    levels = stack_levels(stacks, frames)
    assert [list(LEVELS)[c] for c in levels.level] == ["python", "compiling", "compiling"]
    assert levels.compiled.tolist() == [False, True, True]


def calls() -> tuple[Table, Table, Table]:
    # relu 0..10 | linear 30..130 { addmm 50..120 { copy_ 60..70 } } | linear 200..240 { addmm 205..235 }
    # | linear 300..420 { addmm 330..400 }
    ops = build.table(
        "ops",
        op=range(8),
        thread=[0] * 8,
        start_ns=[0, 30, 50, 60, 200, 205, 300, 330],
        end_ns=[10, 130, 120, 70, 240, 235, 420, 401],
        parent=[-1, -1, 1, 2, -1, 4, -1, 6],
        name=["relu", "linear", "addmm", "copy_", "linear", "addmm", "linear", "addmm"],
        kind=["op"] * 8,
        file=["a.py"] * 8,
        line=range(8),
    )
    kernels = build.table(
        "kernels", kernel=[0, 1], start_ns=[95, 240], end_ns=[115, 250], name=["gemm", "gemm"],
        kind=["kernel", "kernel"], op=[2, 5], launch=[7, -1], stream=[3, 3],
    )  # fmt: skip
    launches = build.table("launches", launch=[7], start_ns=[80], end_ns=[90], name=["cudaLaunchKernel"])
    return ops, kernels, launches


def test_the_median_call_with_everything_around_and_inside_it() -> None:
    chain = call_chain("addmm", *calls())
    assert chain is not None
    assert (chain.calls, chain.op, chain.line, chain.duration.median_ns) == (3, 2, 2, 70)
    assert [(s.name, s.depth, s.start_ns, s.total_ns, s.self_ns) for s in chain.steps] == [
        ("linear", 0, 0, 100, 30),
        ("addmm", 1, 20, 70, 60),
        ("copy_", 2, 30, 10, 10),
    ]
    assert chain.dead is not None
    assert (chain.dead.median_ns, chain.dead.count) == (60, 3)  # 20, 70 and 60 before the three linears
    assert chain.until is not None
    assert chain.until.median_ns == 20
    (launch,) = chain.launches
    assert (launch.name, launch.start_ns, launch.duration_ns, launch.latency_ns, launch.kernel_ns) == (
        "cudaLaunchKernel", 50, 10, 15, 20,
    )  # fmt: skip
    assert chain.latency is not None
    assert chain.latency.count == 1  # the kernel without a launch has no latency
    assert call_chain("conv", *calls()) is None
