"""What is read from the compiler's own words, without the compiler."""

from __future__ import annotations

from types import SimpleNamespace

from sonde.record.frameworks.torch.inside.inductor_code import _facts, innermost

TRACE = '  File "/a/train.py", line 3, in <module>\n    net(x)\n  File "/a/net.py", line 8, in forward\n    y = x * 2\n'


class _Target:
    _overloadpacket = "aten.mul"


def _node(name: str, target: object, trace: str = TRACE) -> SimpleNamespace:
    stack = {"k": ("L['self'].encoder.layers.0", object)}
    meta = {"original_aten": target, "stack_trace": trace, "nn_module_stack": stack}
    return SimpleNamespace(name=name, op="call_function", meta=meta)


def test_the_innermost_frame_is_the_line() -> None:
    assert innermost(TRACE) == {"file": "/a/net.py", "line": 8, "function": "forward", "code": "y = x * 2"}
    assert innermost("") is None


def test_operators_lines_and_modules_of_a_kernel_each_once() -> None:
    facts = _facts([_node("mul_1", _Target()), _node("mul", _Target()), _node("view", None, trace="")])
    assert facts["fused"] == ["aten::mul"]
    assert facts["nodes"] == ["mul", "mul_1", "view"]
    assert [source["line"] for source in facts["sources"]] == [8]
    assert facts["modules"] == ["encoder.layers.0"]
