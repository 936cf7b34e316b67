"""Where operators' own time goes, on a handful of samples with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.ops.sampled import sample_groups, sampled_ops
from sonde.analyze.ops.table import op_groups
from sonde.analyze.samples.frame_kinds import frame_kind
from sonde.analyze.samples.leaves import telling_frames
from sonde.analyze.samples.native_split import native_split, wilson
from sonde.columns import Table, Text
from sonde.store import build

#  0 main ─ 1 [op] aten::linear ─ 2 [op] aten::addmm ─ 3 mkl_blas_sgemm
#                                                    ├ 4 at::native::AVX2::add_kernel ─ 5 callback_fn
#                                                    └ 6 _int_malloc
NAMES = ("main", "aten::linear", "aten::addmm", "mkl_blas_def_sgemm_kernel", "at::native::AVX2::add_kernel")
NAMES += ("c10::function_ref::callback_fn", "_int_malloc")
LAYERS = ("native", "op", "op", "native", "native", "native", "native")


def tables() -> tuple[Table, Table, Table]:
    frames = build.table("frames", frame=range(7), layer=Text.of(LAYERS), name=Text.of(NAMES))
    stacks = build.table(
        "stacks", stack=range(7), parent=[-1, 0, 1, 2, 2, 4, 2], frame=range(7), depth=[1, 2, 3, 4, 4, 5, 4]
    )
    states = ["running"] * 4 + ["spinning", "waiting", "running"]
    reasons = [None] * 5 + ["lock", None]
    samples = build.table(
        "samples",
        stack=[3, 3, 5, 6, 3, 3, 1],
        weight_ns=[10, 10, 10, 10, 10, 500, 7],
        state=Text.of(states),
        reason=Text.of(reasons),
        op=[-1] * 7,
    )
    return samples, stacks, frames


@pytest.mark.parametrize(
    ("layer", "name", "library", "kind"),
    [
        ("jit", "jit_avx2_conv_fwd.3", None, "kernel"),
        ("native", "mkl_blas_def_sgemm_kernel_0_zen", "libtorch_cpu.so", "kernel"),
        ("native", "at::native::cpu_max_pool", "libtorch_cpu.so", "kernel"),
        ("native", "_int_malloc", "libc.so.6", "allocation"),
        ("native", "c10::alloc_cpu", "libc10.so", "allocation"),
        ("native", "__memcpy_avx_unaligned_erms", "libc.so.6", "copy"),
        ("native", "at::_ops::mm::redispatch", "libtorch_cpu.so", "dispatch"),
        ("native", "torch::autograd::THPVariable_linear", "libtorch_python.so", "binding"),
        ("native", "dict_lookup", "libpython3.11.so.1.0", "python"),
        ("native", "std::_Hashtable::find", "libtorch_cpu.so", "other"),
        ("kernel", "clear_page_erms", None, "fault"),
        ("kernel", "do_syscall_64", None, "system"),
    ],
)
def test_a_frame_says_what_kind_of_work_it_is(layer: str, name: str, library: str | None, kind: str) -> None:
    assert frame_kind(layer, name, library) == kind


def test_a_loop_is_named_after_the_kernel_that_runs_in_it() -> None:
    _, stacks, frames = tables()
    assert telling_frames(stacks, frames).tolist() == [0, 1, 2, 3, 4, 4, 6]


def test_self_time_by_part_with_waits_beside() -> None:
    samples, stacks, frames = tables()
    split = native_split(np.array([0, 0, 0, 0, 0, 0, -1]), samples, stacks, frames)[0]
    assert (split.samples, split.on_cpu_ns) == (5, 50)
    assert {p.name: (p.ns, p.samples) for p in split.parts} == {
        "kernel": (30, 3),
        "allocation": (10, 1),
        "spin": (10, 1),
    }
    assert split.waits == {"lock": (500, 1)}
    assert [(leaf.name, leaf.part) for leaf in split.leaves[:2]] == [
        ("mkl_blas_def_sgemm_kernel", "kernel"),
        ("_int_malloc", "allocation"),
    ]


def test_the_interval_is_as_wide_as_the_number_of_samples_says() -> None:
    assert wilson(0.5, 0) == (0.0, 1.0)
    low, high = wilson(0.5, 100)  # by the textbook: 0.404 to 0.596
    assert (low, high) == (pytest.approx(0.4038, abs=1e-4), pytest.approx(0.5962, abs=1e-4))
    assert wilson(1.0, 8)[0] < 0.7 < wilson(1.0, 80)[0]


def test_samples_join_calls_by_identity_and_else_by_the_name_on_the_stack() -> None:
    samples, stacks, frames = tables()
    ops = build.table(
        "ops", op=[40, 41], thread=[0, 0], start_ns=[0, 5], end_ns=[9, 8], parent=[-1, 40],
        name=["aten::linear", "aten::addmm"], kind=["op", "op"], shapes=["[[2]]", "[[2]]"],
    )  # fmt: skip
    samples = samples.with_columns(op=np.array([41, -1, -1, -1, -1, -1, 40]))
    groups = op_groups(ops, "name")
    names = groups.name.tolist()
    found = sample_groups(samples, ops, groups, stacks, frames, "name")
    assert [names[g] for g in found] == ["aten::addmm"] * 6 + ["aten::linear"]
    by_shape = sample_groups(samples, ops, op_groups(ops, "shape"), stacks, frames, "shape")
    assert (by_shape >= 0).tolist() == [True, False, False, False, False, False, True]


def test_operators_from_stacks_alone() -> None:
    table, rows = sampled_ops(*tables())
    assert table.text("name").tolist() == ["aten::addmm", "aten::linear"]
    assert table.array("self_ns").tolist() == [50, 7]
    assert table.array("total_ns").tolist() == [50, 57]
    assert rows.tolist() == [0, 0, 0, 0, 0, 0, 1]
