"""Inductor's kernels get their names back."""

from __future__ import annotations

import json

from sonde.link.kernel_names import with_kernel_names
from sonde.store import build


def test_the_one_function_of_a_kernels_library_is_called_by_the_kernels_name() -> None:
    extra = json.dumps({"kernel": "cpp_fused_gelu_0", "library": "/cache/fu/abc.main.so"})
    marks = build.table("marks", mark=[0], kind=["compile"], name=["kernel"], extra=[extra])
    frames = build.table(
        "frames",
        frame=[0, 1, 2],
        name=["kernel", "kernel", "at::add"],
        full_name=["kernel", "kernel", "at::add"],
        library=["abc.main.so", "other.so", "abc.main.so"],
    )
    found = with_kernel_names({"frames": frames, "marks": marks})["frames"]
    assert found.text("name").tolist() == ["cpp_fused_gelu_0", "kernel", "at::add"]
