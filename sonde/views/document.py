"""docs/json.md: the JSON of every view of `sonde show`, from what the views declare.

Enters: `VIEWS`. Leaves: the page, by `python -m sonde.views.document`; a test holds the file to what is declared.
What a field means is said by its `Column`, else by the comment behind it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from sonde.views import VIEWS
from sonde.views.columns import columns_of

TARGET = Path("docs/json.md")
_HEAD = """# JSON of the views

Made by `python -m sonde.views.document` from the declarations in `sonde/views`. Do not edit.

- Keys are stable; new ones may be added. `null`: the recording does not tell.
- Every answer begins with `notes`: what to know before the figures are read. It is empty for most recordings.
- `--csv` has the rows of the table that is named first, `sonde query` knows it by the name given.
"""
_PLAIN = {str: "text", int: "integer", float: "number", bool: "true or false", Any: "any"}
_COMMENT = re.compile(r"^    (\w+): [^#\n]*?  # (.+)$", re.M)


def document() -> str:
    """The whole page."""
    parts = [_HEAD]
    for name, view in VIEWS.items():
        answer = get_type_hints(importlib.import_module(view.module).data)["return"]
        table = f" `--csv` and `{view.sql}` of `sonde query`: `{view.rows}`." if view.sql else ""
        line = view.line[:1].upper() + view.line[1:]
        parts += [f"## {name}", "", f"{line}.{table}", ""]
        found: dict[str, type] = {}
        _collect(answer, found)
        for one in found.values():
            parts += [_sentence(one) if one is answer else f"`{one.__name__}`: {_sentence(one)}", ""]
            parts += [*_table(one), ""]
    return "\n".join(parts)


def _collect(hint: Any, found: dict[str, type]) -> None:
    """The dataclasses of an answer, each once, the answer first."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint.__name__ not in found:
        found[hint.__name__] = hint
        for inner in get_type_hints(hint).values():
            _collect(inner, found)
    for inner in get_args(hint):
        _collect(inner, found)


def _sentence(found: type) -> str:
    return " ".join((found.__doc__ or "").split()).rstrip(".") + "."


def _table(found: type) -> list[str]:
    said = {column.key: column.said for column in columns_of(found)}
    comments = _comments(found)
    lines = ["| key | type | unit | meaning |", "|---|---|---|---|"]
    for key, hint in get_type_hints(found).items():
        column = said.get(key)
        meaning = column.meaning if column else comments.get(key, "")
        lines.append(f"| `{key}` | {_type(hint)} | {column.unit if column else ''} | {_cell(meaning)} |")
    return lines


def _comments(found: type) -> dict[str, str]:
    """Field → comment, of the class and those it inherits from."""
    texts = [inspect.getsource(one) for one in reversed(found.__mro__) if dataclasses.is_dataclass(one)]
    return {key: text for source in texts for key, text in _COMMENT.findall(source)}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _type(hint: Any) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if part is type(None) else _type(part) for part in inner)
    if origin in (list, tuple):
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"object of {_type(inner[1])}"
    return f"`{hint.__name__}`"


if __name__ == "__main__":
    TARGET.write_text(document(), encoding="utf-8")
