"""The types of the report's facts, written as TypeScript from what the views declare.

Enters: the answers of `PAGE_VIEWS`. Leaves: web/src/data/answers.ts, by `python -m sonde.views.typescript`; a
test holds the file to what is declared. Rows have their declared columns only: what is for programs alone is
not in the page.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from sonde.insights.bound import THRESHOLDS, WAITS, WORDS
from sonde.insights.host_layers import KINDS
from sonde.rows import Unit
from sonde.views import VIEWS
from sonde.views.columns import columns_of, row_type_of

# Views whose answer the report carries; `ops` once for each way to group its rows. Those with many plain rows are
# columns of numbers, the others are carried whole, as JSON.
PAGE_VIEWS = tuple(name for name, view in VIEWS.items() if view.page)
TABULAR = tuple(name for name, view in VIEWS.items() if view.page == "columns")
TARGET = Path("web/src/data/answers.ts")
_HEAD = f"""// Made by: python -m sonde.views.typescript. Do not edit: the declarations are in sonde/views.

export type Unit = {" | ".join(json.dumps(unit) for unit in get_args(Unit))};

export interface ColumnFacts<Row> {{
  key: keyof Row & string;
  kind: "text" | "integer" | "number" | "flag";
  unknown: boolean; // may be null
  title: string;
  unit: Unit;
  meaning: string;
}}
"""
_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", Any: "unknown", type(None): "null"}


def typescript() -> str:
    """The whole file."""
    interfaces: dict[str, str] = {}
    columns: dict[str, str] = {}
    answers: list[str] = []
    for name in PAGE_VIEWS:
        data = importlib.import_module(VIEWS[name].module).data
        rows = VIEWS[name].rows
        answer = get_type_hints(data)["return"]
        if name in TABULAR:
            row_type = row_type_of(data, rows)
            columns[row_type.__name__] = _columns(row_type)
            interfaces[row_type.__name__] = _row_interface(row_type)
        _interface(answer, interfaces, columns, left_out=name in TABULAR)
        kind = f"Record<string, {answer.__name__}>" if name == "ops" else answer.__name__
        answers.append(f"  {name}: {kind};")
    tables = [f"  {name}: {_name(name)}," for name in TABULAR]
    bound = {"kinds": KINDS, "words": WORDS, "waits": WAITS, **THRESHOLDS}
    return "\n".join(
        [
            _HEAD,
            *interfaces.values(),
            "",
            *columns.values(),
            "",
            "// What the report's data block holds of each view.",
            "export interface Answers {",
            *answers,
            "}",
            "",
            "// The columns of each view's rows, in the order of its declaration.",
            "export const COLUMNS = {",
            *tables,
            "};",
            "",
            "// The field of each answer that has its rows.",
            "export const ROWS = {",
            *(f'  {name}: "{VIEWS[name].rows}",' for name in TABULAR),
            "} as const;",
            "",
            "// Views that the page shows as a plain table of their own.",
            'export type Tab = Exclude<keyof typeof COLUMNS, "ops">;',
            "export const TABS: { view: Tab; title: string; about: string }[] = [",
            *(
                f"  {{ view: {json.dumps(name)}, title: {json.dumps(view.tab)}, about: {json.dumps(view.line)} }},"
                for name, view in VIEWS.items()
                if view.tab
            ),
            "];",
            "",
            "// The verdict: kinds of samples in the order of their codes, words for their shares, thresholds.",
            f"export const BOUND = {json.dumps(bound, ensure_ascii=False)};",
            "",
        ]
    )


def _name(view: str) -> str:
    row_type = row_type_of(importlib.import_module(VIEWS[view].module).data, VIEWS[view].rows)
    return _constant(row_type)


def _constant(row_type: type) -> str:
    words = "".join("_" + c if c.isupper() else c for c in row_type.__name__).strip("_")
    return f"{words.upper()}_COLUMNS"


def _columns(row_type: type) -> str:
    lines = [f"export const {_constant(row_type)}: ColumnFacts<{row_type.__name__}>[] = ["]
    for column in columns_of(row_type):
        if column.kind == "object":  # lists are no cell of a table
            continue
        said = column.said
        facts = {
            "key": column.key, "kind": column.kind, "unknown": column.unknown,
            "title": said.title, "unit": said.unit, "meaning": said.meaning,
        }  # fmt: skip
        inner = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items())
        lines.append(f"  {{ {inner} }},")
    return "\n".join([*lines, "];"])


def _row_interface(row_type: type) -> str:
    hints = get_type_hints(row_type)
    lines = [f" {c.key}: {_type(hints[c.key], {}, {})};" for c in columns_of(row_type) if c.kind != "object"]
    return f"export interface {row_type.__name__} {{{''.join(lines)} }}"


def _interface(
    found: type, interfaces: dict[str, str], columns: dict[str, str], left_out: bool = False
) -> None:
    if found.__name__ in interfaces:
        return
    interfaces[found.__name__] = ""  # its place, before those it needs are asked for
    if columns_of(found):
        columns[found.__name__] = _columns(found)
    hints = get_type_hints(found)
    lines = [f" {f.name}: {_type(hints[f.name], interfaces, columns)};" for f in dataclasses.fields(found)]
    lines += [" not_carried: number;"] if left_out else []  # rows that are not in the page
    interfaces[found.__name__] = f"export interface {found.__name__} {{{''.join(lines)} }}"


def _type(hint: Any, interfaces: dict[str, str], columns: dict[str, str]) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(part, interfaces, columns) for part in inner)
    if origin is list or (origin is tuple and inner[-1] is Ellipsis):
        return f"{_type(inner[0], interfaces, columns)}[]"
    if origin is dict:
        return f"Record<string, {_type(inner[1], interfaces, columns)}>"
    _interface(hint, interfaces, columns)
    return str(hint.__name__)


if __name__ == "__main__":
    TARGET.write_text(typescript(), encoding="utf-8")
