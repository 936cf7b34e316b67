"""Names: what Inductor joins, what a rename is, where lines moved."""

from __future__ import annotations

import pytest

from sonde.compare.fusion import by_name, fusion_groups
from sonde.compare.renames import Seen, moved_lines, renamed_functions


@pytest.mark.parametrize(
    ("kernel", "ops"),
    [
        ("cpp_fused_addmm_relu_0", {"addmm", "relu"}),
        ("triton_poi_fused_add_mul_0", {"add", "mul"}),
        ("cpp_fused_native_layer_norm_gelu_3", {"native_layer_norm", "gelu"}),
        ("triton_red_fused__softmax__to_copy_sum_12", {"_softmax", "_to_copy", "sum"}),
        ("cpp_fused_mul_relu_threshold_backward_0", {"mul", "relu", "threshold_backward"}),
        ("extern_kernels::addmm", {"addmm"}),
        ("graph_0_cpp_fused_sin_0", {"sin"}),
        ("aten::mm", set()),
    ],
)
def test_operators_in_a_kernels_name(kernel: str, ops: set[str]) -> None:
    assert by_name(kernel) == ops


def test_a_kernel_of_both_sides_is_left_alone() -> None:
    kernel = "cpp_fused_add_0"
    fused = {kernel: frozenset({"add"})}
    assert fusion_groups({kernel, "aten::add"}, {kernel}, fused, fused) == {}


def test_in_place_calls_are_the_same_work() -> None:
    groups = fusion_groups(
        {"aten::add_", "aten::add"}, {"cpp_fused_add_0"}, {}, {"cpp_fused_add_0": frozenset({"add"})}
    )
    assert len(set(groups.values())) == 1
    assert set(groups) == {"aten::add_", "aten::add", "cpp_fused_add_0"}


def test_renames_need_a_like_name_or_like_callees() -> None:
    a = {("m.py", "load"): Seen({5: 1.0}, {"read", "decode", "crop"})}
    assert renamed_functions(a, {("m.py", "fetch"): Seen({90: 1.0}, {"read", "decode", "crop"})})
    assert renamed_functions(a, {("m.py", "load_all"): Seen({6: 1.0}, {"other"})})
    assert not renamed_functions(a, {("m.py", "train"): Seen({5: 1.0}, {"step"})})
    assert not renamed_functions(a, {("n.py", "load"): Seen({5: 1.0}, {"read", "decode", "crop"})})


def test_each_function_is_matched_once() -> None:
    a = {("m.py", "load_a"): Seen({5: 1.0}), ("m.py", "load_b"): Seen({9: 1.0})}
    found = renamed_functions(a, {("m.py", "load_c"): Seen({5: 1.0})})
    assert found == {("m.py", "load_c"): ("m.py", "load_a")}


def test_lines_that_moved_together() -> None:
    assert moved_lines({10: 1.0, 12: 5.0}, {13: 1.0, 15: 9.0}) == 3
    assert moved_lines({10: 1.0, 12: 5.0}, {10: 5.0, 12: 50.0}) == 0
    assert moved_lines({10: 1.0}, {}) == 0
