"""Operators and autograd nodes in C++ function names: what the sampled stack says for free.

In: a demangled name. Out: the operator that begins in that function, and how sure that is:

    at::_ops::sum_dim_IntList::call(…)                    aten::sum          CALL: the operator's entry
    at::_ops::sum_dim_IntList::redispatch(…)              aten::sum          INNER: still the same call
    torch::autograd::THPVariable_sum(_object*, …)         aten::sum          BINDING: Python arguments of it
    torch::autograd::generated::SumBackward1::apply(…)    SumBackward1       NODE: a backward step
    torch::autograd::Engine::execute(…)                   autograd::engine   NODE: the backward pass itself; its
                                                          own time is bookkeeping between the steps
    THPVariable_dealloc(_object*)                         tensor::free       REST: torch's own work on behalf of no
                                                          operator, named so only outside of all others
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from importlib.resources import files


class Mark(Enum):
    """What a function tells about an operator."""

    CALL = 0
    INNER = 1
    BINDING = 2
    NODE = 3
    REST = 4


@dataclass(frozen=True)
class Operator:
    """An operator name as profilers write it (`aten::addmm`), or a backward node (`AddmmBackward0`)."""

    name: str
    mark: Mark


_OPS = re.compile(r"(?:^|[ &*])at::_ops::(\w+)::(call|redispatch)\(")
_BINDING = re.compile(
    r"^(?:_object\* torch::autograd::TypeError_to_NotImplemented_<&?\(?&?)?torch::autograd::THPVariable_(\w+)[(>]"
)
_NODE = re.compile(
    r"^torch::autograd::(?:generated::(?:\w+::)*)?(\w*Backward\w*|AccumulateGrad|CopySlices|PyNode)::apply\("
)
_ENGINE = re.compile(r"^torch::autograd::Engine::execute\(")
# What Python enters torch for besides operators. Freeing a tensor includes the graph that it held.
_REST = (
    (
        "tensor::free",
        re.compile(
            r"^THPVariable_(?:subclass_)?(?:dealloc|clear|tryResurrect)\(|^c10::TensorImpl::(?:~TensorImpl|decref_pyobject)\("
            r"|^c10::intrusive_ptr<c10::(?:TensorImpl|StorageImpl),.*::(?:reset_|~intrusive_ptr)\("
            r"|^c10::StorageImpl::~StorageImpl\(|^at::Tensor(?:Base)?::~|^std::vector<at::Tensor, .*::~vector\("
        ),
    ),
    (
        "autograd::free",
        re.compile(
            r"^torch::autograd::(?:deleteNode|gatherFunctions|Node::~Node|SavedVariable::(?:~|reset_data))"
            r"|^torch::autograd::(?:generated::)?(\w+)::~\1\(|^torch::autograd::AutogradMeta::~"
        ),
    ),
    (
        "tensor::attribute",
        re.compile(
            r"^(?:\w+Base<Property\w+>::[gs]etter|THPVariable_\w+)\(THPVariable\*, (?:_object\*, )?void\*\)"
        ),
    ),
    (
        "torch::overrides",
        re.compile(
            r"^(?:THPModule_\w*torch_function\w*|torch::check_has_torch_function|torch::handle_torch_function\w*"
            r"|at::impl::(?:PythonTorchFunctionTLS::\w+|torch_function_mode_enabled))\("
        ),
    ),
    (
        "torch::record_function",
        re.compile(r"^torch::autograd::profiler::.*record_function_(?:enter|exit)\w*\("),
    ),
    (
        "autograd::grad_mode",
        re.compile(r"^(?:torch::autograd::|at::GradMode::|THPModule_)(?:set|is)_\w*(?:enabled|grad)\w*\("),
    ),
    (
        "torch::binding",  # arguments and results of functions bound by pybind11
        re.compile(
            r"^pybind11::cpp_function::initialize<.*\b(?:torch|at|c10)::.*\(pybind11::detail::function_call&\)"
            r"|^pybind11::class_<(?:torch|at|c10)::.*::dealloc"
        ),
    ),
)


@lru_cache(maxsize=65536)
def operator_of(full_name: str) -> Operator | None:
    """The operator that `full_name` speaks of, None for all other functions."""
    if "::" not in full_name and not full_name.startswith("THP"):
        return None
    found = _OPS.search(full_name)
    if found:
        mark = Mark.CALL if found[2] == "call" else Mark.INNER
        return Operator("aten::" + base_name(found[1]), mark)
    found = _NODE.match(full_name)
    if found:
        return Operator(found[1], Mark.NODE)
    if _ENGINE.match(full_name):
        return Operator("autograd::engine", Mark.NODE)
    found = _BINDING.match(full_name)
    if found:
        # Methods that are no operators (numel) have a binding of the same kind.
        space = "aten::" if is_operator(found[1]) else "torch::"
        return Operator(space + found[1], Mark.BINDING)
    for name, pattern in _REST:
        if pattern.search(full_name):
            return Operator(name, Mark.REST)
    return None


def base_name(struct: str) -> str:
    """`sum_dim_IntList` → `sum`. Unknown ones lose the longest ending that is an overload elsewhere."""
    known = _structs().get(struct)
    if known is not None:
        return known
    parts = struct.split("_")
    for cut in range(1, len(parts)):
        head, tail = "_".join(parts[:cut]), "_".join(parts[cut:])
        # Lower-case endings (add_relu) are rather part of the name.
        if head and tail in _overloads() and tail != tail.lower():
            return head
    return struct


def is_operator(name: str) -> bool:
    """Is it the name of an operator, without overload?"""
    return name in _names()


@cache
def _table() -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    structs: dict[str, str] = {}
    overloads: set[str] = set()
    names: set[str] = set()
    text = (files("sonde.symbols") / "aten_overloads.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, *rest = line.split()
        names.add(name)
        for overload in rest or ["-"]:
            structs[name if overload == "-" else f"{name}_{overload}"] = name
            if overload != "-":
                overloads.add(overload)
    return structs, frozenset(overloads), frozenset(names)


def _structs() -> dict[str, str]:
    return _table()[0]


def _overloads() -> frozenset[str]:
    return _table()[1]


def _names() -> frozenset[str]:
    return _table()[2]
