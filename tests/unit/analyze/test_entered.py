"""Which operator is under way, by the stack alone."""

from __future__ import annotations

from sonde.analyze.samples.operators_on_stack import entered_operators
from sonde.columns import Text
from sonde.store import build

NAMES = [
    "main",
    "aten::linear",
    "at::_ops::linear::call",
    "c10::Dispatcher::callWithDispatchKeySlowPath",
    "c10::Dispatcher::runRecordFunction",
    "c10::impl::wrap_kernel_functor_unboxed_::call",
    "aten::t",
    "at::_ops::t::call",
    "at::native::t",
]


def test_a_call_counts_from_its_kernel_on() -> None:
    layers = ["op" if n.startswith("aten::") else "native" for n in NAMES]
    frames = build.table("frames", frame=range(len(NAMES)), layer=Text.of(layers), name=Text.of(NAMES))
    #        main linear call slow  record kernel t  call native-t
    parent = [-1, 0, 1, 2, 3, 3, 5, 6, 7]
    stacks = build.table(
        "stacks", stack=range(9), parent=parent, frame=range(9), depth=[1, 2, 3, 4, 5, 5, 6, 7, 8]
    )
    samples = build.table("samples", stack=[0, 3, 4, 5, 7, 8, -1])
    found = entered_operators(samples, stacks, frames).tolist()
    assert found == [None, None, None, "aten::linear", "aten::linear", "aten::t", None]
