"""Operators and autograd nodes in C++ function names: what the sampled stack says for free.

In: a demangled name. Out: the operator that begins in that function, and how sure that is:

    at::_ops::sum_dim_IntList::call(…)                    aten::sum          CALL: the operator's entry
    at::_ops::sum_dim_IntList::redispatch(…)              aten::sum          INNER: still the same call
    torch::autograd::THPVariable_sum(_object*, …)         aten::sum          BINDING: Python arguments of it
    torch::autograd::generated::SumBackward1::apply(…)    SumBackward1       NODE: a backward step
    torch::autograd::Engine::execute(…)                   autograd::engine   NODE: the backward pass itself; its
                                                          own time is bookkeeping between the steps
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


@dataclass(frozen=True)
class Operator:
    """An operator name as profilers write it (`aten::addmm`), or a backward node (`AddmmBackward0`)."""

    name: str
    mark: Mark


_OPS = re.compile(r"(?:^|[ &*])at::_ops::(\w+)::(call|redispatch)\(")
_BINDING = re.compile(r"^torch::autograd::THPVariable_(\w+)\(")
_NODE = re.compile(
    r"^torch::autograd::(?:generated::(?:\w+::)*)?(\w*Backward\w*|AccumulateGrad|CopySlices|PyNode)::apply\("
)
_ENGINE = re.compile(r"^torch::autograd::Engine::execute\(")


@lru_cache(maxsize=65536)
def operator_of(full_name: str) -> Operator | None:
    """The operator that `full_name` speaks of, None for all other functions."""
    if not full_name or "::" not in full_name:
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
    if found and is_operator(found[1]):
        return Operator("aten::" + found[1], Mark.BINDING)
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
