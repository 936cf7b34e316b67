"""The outer name of a C++ symbol that the demangler gives up on: lambdas nested many levels deep.

    _ZN3c1012function_refIFvPPcPKlllEE11callback_fnIZN2at18TensorIteratorBase…  →  c10::function_ref::callback_fn

In: a mangled name. Out: its namespaces, classes and function without template arguments and parameters, as `shorten`
leaves them of names that were demangled; None where the name is of another shape.
"""

from __future__ import annotations

import re

_SOURCE_NAME = re.compile(r"[1-9]\d*")
_SUBSTITUTION = re.compile(r"S(?:[0-9A-Z]*_|[tabsiod])")
_PARAMETER = re.compile(r"T(?:L\d*_)?\d*_")
_LITERAL = re.compile(r"L(?:[a-z]n?[0-9a-f]*|b[01])E")
_ENDS_LAMBDA = re.compile(r"\d*_")
_STD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string", "Sb": "std::basic_string"}
_OPERATORS = {
    "cl": "operator()",
    "ix": "operator[]",
    "pl": "operator+",
    "mi": "operator-",
    "eq": "operator==",
}
_LOCAL = "12_GLOBAL__N_1"


def outer_name(mangled: str) -> str | None:
    """The name for people; None when it cannot be told."""
    if not mangled.startswith("_Z") or not mangled.isascii():
        return None
    at = 2
    while mangled.startswith("Z", at):  # something inside a function: the function is its outer name
        at += 1
    try:
        parts = _nested(mangled, at + 1) if mangled.startswith("N", at) else _plain(mangled, at)
    except (IndexError, ValueError):
        return None
    return "::".join(part for part in parts if part != "__cxx11") or None


def _plain(text: str, at: int) -> list[str]:
    parts = []
    if text.startswith("St", at):
        parts.append("std")
        at += 2
    name, _ = _source_name(text, at)
    return [*parts, name]


def _nested(text: str, at: int) -> list[str]:
    """Names between N and its E."""
    parts: list[str] = []
    while text[at] in "rVKRO":  # qualifiers of a member function
        at += 1
    while text[at] != "E":
        if text.startswith(_LOCAL, at):
            at += len(_LOCAL)
        elif text[at] == "L" and text[at + 1].isdigit():  # internal linkage
            at += 1
        elif text[at].isdigit():
            name, at = _source_name(text, at)
            parts.append(name)
        elif text[at] == "I":
            at = _skip(text, at)
        elif text[at : at + 2] in _STD:
            parts.append(_STD[text[at : at + 2]])
            at += 2
        elif text[at : at + 2] == "Ul":
            parts.append("{lambda}")
            at = _skip(text, at)
        elif text[at : at + 2] in _OPERATORS:
            parts.append(_OPERATORS[text[at : at + 2]])
            at += 2
        elif text[at] in "CD" and text[at + 1].isdigit():  # constructor, destructor
            parts.append(("~" if text[at] == "D" else "") + parts[-1])
            at += 2
        elif text[at] == "B":  # ABI tag
            _, at = _source_name(text, at + 1)
        else:
            raise ValueError(text[at])
    return parts


def _source_name(text: str, at: int) -> tuple[str, int]:
    found = _SOURCE_NAME.match(text, at)
    if not found:
        raise ValueError(text[at])
    end = found.end() + int(found.group())
    if end > len(text):
        raise ValueError(found.group())
    return text[found.end() : end], end


def _skip(text: str, at: int) -> int:
    """Behind what begins here with one of the letters that an E closes."""
    depth = 0
    lambdas: list[int] = []  # depths that a lambda opened: its number follows the E
    while True:
        letter = text[at]
        if letter.isdigit():
            _, at = _source_name(text, at)
        elif found := (
            _SUBSTITUTION.match(text, at) or _PARAMETER.match(text, at) or _LITERAL.match(text, at)
        ):
            at = found.end()
        elif letter == "L" and text[at + 1].isdigit():
            at += 1
        elif letter == "U" and text[at + 1] == "l":
            lambdas.append(depth)
            depth += 1
            at += 2
        elif letter == "U" and text[at + 1] == "t":
            number = _ENDS_LAMBDA.match(text, at + 2)
            at = number.end() if number else at + 2
        elif letter in "NIFXJZL" or text[at : at + 2] in ("DT", "Dt"):
            depth += 1
            at += 2 if letter == "D" else 1
        elif letter == "E":
            depth -= 1
            at += 1
            if lambdas and lambdas[-1] == depth:
                lambdas.pop()
                number = _ENDS_LAMBDA.match(text, at)
                at = number.end() if number else at
        else:
            at += 1
        if depth == 0:
            return at
