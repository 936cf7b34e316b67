"""What a column of an answer is, and an answer as JSON values and back.

    @dataclass(frozen=True)
    class OpRow:
        self_ms: Annotated[float, Column("Self CPU", "ms", "time in the operator itself")]

Enters: an answer made of frozen dataclasses, or JSON that someone else may have written. Leaves: plain JSON values
(`plain`), or the answer (`typed`). What people read about a column is declared here; `sonde.views` makes text, CSV, SQL
and the report's types from it.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

Unit = Literal["", "ms", "us", "ns", "bytes", "count", "share", "percent", "FLOP", "GB/s", "TFLOP/s"]
Answer = TypeVar("Answer")


class Column(NamedTuple):
    """What people read about a column; its key and type are those of the field."""

    title: str
    unit: Unit = ""
    meaning: str = ""
    sortable: bool = True


def plain(value: Any) -> Any:
    """An answer as JSON values: dataclasses become objects, what is not finite becomes null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def typed(answer: type[Answer], value: object) -> Answer:
    """The answer that `plain` made these JSON values of. ValueError where they do not have its shape."""
    found: Answer = _typed(answer, value, answer.__name__)
    return found


def _typed(hint: Any, value: object, where: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        (hint,) = (part for part in inner if part is not type(None))
        return _typed(hint, value, where)
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        hints = get_type_hints(hint)
        fields = {
            f.name: _typed(hints[f.name], value.get(f.name), f"{where}.{f.name}")
            for f in dataclasses.fields(hint)
        }
        return hint(**fields)  # type: ignore[operator]
    if origin is list and isinstance(value, list):
        return [_typed(inner[0], item, where) for item in value]
    if origin is dict and isinstance(value, Mapping):
        return {str(key): _typed(inner[1], item, f"{where}.{key}") for key, item in value.items()}
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if hint in (int, str, bool) and type(value) is hint:
        return value
    raise ValueError(f"{where} is {type(value).__name__}")
