"""Stacks are classed by what their innermost telling frame is."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.base.grouping import prefix_tree, rows_of
from sonde.analyze.base.nesting import depths, sum_up
from sonde.errors import InputError
from sonde.render.html.layers import (
    FRAMEWORK,
    KERNEL,
    NEUTRAL,
    OPERATOR,
    OTHER,
    PYTHON,
    SYSTEM,
    function_class,
    stack_classes,
)


@pytest.mark.parametrize(
    ("layer", "name", "library", "expected"),
    [
        ("python", "forward", "", PYTHON),
        ("native", "_PyEval_EvalFrameDefault", "python3.11", PYTHON),
        ("native", "PyObject_Call", "libpython3.12.so.1.0", PYTHON),
        ("native", "c10::Dispatcher::call", "libtorch_cpu.so", FRAMEWORK),
        ("native", "torch::autograd::Engine::execute", "libtorch_cpu.so", FRAMEWORK),
        ("native", "at::native::add_kernel", "libtorch_cpu.so", KERNEL),
        ("native", "at::native::resize_output", "libtorch_cpu.so", OPERATOR),
        ("native", "mkl_blas_avx512_sgemm_kernel", "libtorch_cpu.so", KERNEL),
        ("native", "vmsSqrt", "libtorch_cpu.so", KERNEL),
        ("native", "__memmove_avx512_unaligned", "libc.so.6", NEUTRAL),
        ("native", "do_spin", "libgomp.so.1", NEUTRAL),
        ("jit", "brgemm_kernel_t", "", KERNEL),
        ("kernel", "page_fault", "", SYSTEM),
        ("op", "aten::add", "", OPERATOR),
    ],
)
def test_function_class(layer: str, name: str, library: str, expected: int) -> None:
    assert function_class(layer, name, library) == expected


def test_a_neutral_frame_counts_as_its_caller_and_framework_below_an_op_as_the_op() -> None:
    # python ─ op ─ dispatcher ─ memcpy;  python ─ engine;  memcpy at a root
    parent = np.array([-1, 0, 1, 2, 0, -1])
    own = np.array([PYTHON, OPERATOR, FRAMEWORK, NEUTRAL, FRAMEWORK, NEUTRAL])
    assert stack_classes(parent, own).tolist() == [PYTHON, OPERATOR, OPERATOR, OPERATOR, FRAMEWORK, OTHER]


def test_prefix_tree_merges_equal_chains_only() -> None:
    parent = np.array([-1, 0, -1, 2, 2])
    key = np.array([1, 2, 1, 2, 3])
    node, new_parent, first = prefix_tree(parent, depths(parent), key)
    assert node.tolist() == [0, 1, 0, 1, 2]
    assert new_parent.tolist() == [-1, 0, 0]
    assert first.tolist() == [0, 1, 4]


def test_totals_and_depths_of_a_long_chain() -> None:
    parent = np.arange(20_000) - 1
    assert depths(parent)[-1] == 19_999
    assert sum_up(parent, np.ones(20_000))[0] == 20_000


def test_a_cycle_is_refused() -> None:
    with pytest.raises(InputError, match="circle"):
        depths(np.array([1, 0, -1]))


def test_rows_of_identities_in_any_order() -> None:
    assert rows_of(np.array([7, 3, 9]), np.array([9, 7, 4, -1])).tolist() == [2, 0, -1, -1]
