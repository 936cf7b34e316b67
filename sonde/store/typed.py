"""JSON → dataclasses, with every value checked against the type that the field declares.

Enters: what `json_text.loads` gave for one object. Leaves: an instance, or a ValueError that names the field, the value
seen and what was expected. Keys that the class does not declare are left out: a newer Sonde may have written them.
Used for everything that Sonde writes as JSON and reads again: meta.json, journals, the ledger.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")
_INT64 = 1 << 63
_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "null"}


def build(cls: type[T], data: Any) -> T:
    """An instance of the dataclass `cls` from a JSON object."""
    return typing.cast(T, _object(cls, data, ""))


def fits(kind: Any, value: Any) -> Any:
    """`value` as a value of type `kind`; None when it is of another type."""
    try:
        return _value(kind, value, "it")
    except ValueError:
        return None


def _object(cls: Any, data: Any, where: str) -> Any:
    if not isinstance(data, Mapping):
        raise ValueError(f"{where or 'it'} is {_seen(data)}; an object was expected")
    hints = typing.get_type_hints(cls)
    found = {}
    for field in fields(cls):
        name = f"{where}.{field.name}" if where else field.name
        if field.name in data:
            found[field.name] = _value(hints[field.name], data[field.name], name)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{name} is missing")
    return cls(**found)


def _value(kind: Any, value: Any, where: str) -> Any:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in inner:
            return None
        return _value(next(k for k in inner if k is not type(None)), value, where)
    if is_dataclass(kind):
        return _object(kind, value, where)
    if origin in (list, tuple) and isinstance(value, list):
        checked = [_value(inner[0], v, f"{where}[{i}]") for i, v in enumerate(value)]
        return checked if origin is list else tuple(checked)
    if origin is dict and isinstance(value, dict):
        return {k: _value(inner[1], v, f"{where}.{k[:80]}") for k, v in value.items()}
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if abs(value) < 2**1000:  # NaN is not; beyond 2**1024 an integer is no float
            return float(value)
    elif kind is int and isinstance(value, int) and not isinstance(value, bool):
        if -_INT64 <= value < _INT64:
            return value
    elif isinstance(kind, type) and kind is not int and isinstance(value, kind):
        return value
    expected = _WORDS.get(kind) or ("a list" if origin in (list, tuple) else "an object")
    raise ValueError(f"{where} is {_seen(value)}; {expected} was expected")


def _seen(value: Any) -> str:
    text = repr(value) if isinstance(value, (str, bool, float, type(None))) else ""
    if isinstance(value, int) and not isinstance(value, bool):
        text = str(value) if abs(value) < 10**40 else "a number of many digits"
    return (text[:60] + ("…" if len(text) > 60 else "")) or f"a JSON {type(value).__name__}"
