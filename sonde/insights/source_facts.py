"""What the program's text says of a line: which part of a result is used, where a setting is made.

Enters: the `sources` of a recording. Leaves: lines. The text is parsed, never run; a file that cannot be parsed, or was
changed while the program ran, tells nothing.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field

from sonde.columns import Table
from sonde.insights.source_cuts import Cut, cuts_of
from sonde.insights.source_products import products_of
from sonde.insights.source_told import drawing_functions, told_lines

MOST_BYTES = 2_000_000


@dataclass(frozen=True)
class FileFacts:
    """Facts of one file, by line (of a call: each line that it spans)."""

    cut: frozenset[int] = frozenset()  # a fresh result of which only a piece is kept: f(x)[i]
    unused: frozenset[int] = frozenset()  # what the line makes has a name that nobody reads
    keeps: frozenset[int] = frozenset()  # in a loop, something is added to a list without detach or item
    told: frozenset[int] = (
        frozenset()
    )  # in a loop, what the line makes is printed, or read after the loop, and no more
    looks_up: frozenset[int] = frozenset()  # a container is made to use one element of it: dict(pairs)[name]
    draws: frozenset[str] = frozenset()  # functions that draw random numbers, or may
    calls: dict[str, tuple[int, ...]] = field(default_factory=dict)  # last part of the called name → lines
    pieces: tuple[Cut, ...] = ()  # values that are only read in pieces
    products: tuple[tuple[int, int], ...] = ()  # lines of a product, and of the one that it goes into


def source_facts(sources: Table) -> dict[str, FileFacts]:
    """Facts of every file whose text is kept."""
    found = {}
    changed = sources.array("changed")
    texts = zip(sources.text("file").tolist(), sources.text("text").tolist(), strict=True)
    for row, (file, text) in enumerate(texts):
        if file and text and not changed[row] and len(text) <= MOST_BYTES:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found[file] = _facts(ast.parse(text))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return found


def _facts(tree: ast.Module) -> FileFacts:
    cut: set[int] = set()
    unused: set[int] = set()
    keeps: set[int] = set()
    calls: dict[str, set[int]] = {}
    stored: dict[str, set[int]] = {}
    read: set[str] = set()
    names: dict[str, set[str]] = {}  # name → what was called to make it
    entered: list[tuple[str, int]] = []  # with NAME: at a line
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _makes(node.value):
            if not isinstance(node.slice, ast.Constant) or isinstance(node.slice.value, int):
                cut |= _span(node)
        elif isinstance(node, ast.Call):
            if _name(node.func):
                calls.setdefault(_name(node.func), set()).add(node.lineno)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                stored.setdefault(node.id, set()).add(node.lineno)
            else:
                read.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read.add(node.target.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            read |= set(node.names)
        elif isinstance(node, ast.Assign):
            made = {_name(call.func) for call in ast.walk(node.value) if isinstance(call, ast.Call)}
            names.update((one.id, made) for one in node.targets if isinstance(one, ast.Name))
        elif isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.context_expr, ast.Name):
                    entered.append((item.context_expr.id, node.lineno))
        elif isinstance(node, (ast.For, ast.While)):
            keeps |= {
                call.lineno
                for call in ast.walk(node)
                if isinstance(call, ast.Call)
                and _name(call.func) in ("append", "extend")
                and not _detached(call)
            }
    for name, lines in stored.items():
        if name not in read and not name.startswith("_"):
            unused |= lines
    for name, line in entered:  # what a name stands for is called where it is entered
        for made_by in names.get(name, ()):
            calls.setdefault(made_by, set()).add(line)
    called = {name: tuple(sorted(lines)) for name, lines in calls.items()}
    looks_up = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and _looks_up(node)
        for line in _span(node)
    }
    return FileFacts(
        frozenset(cut),
        frozenset(unused),
        frozenset(keeps),
        frozenset(told_lines(tree)),
        frozenset(looks_up),
        frozenset(drawing_functions(tree)),
        called,
        cuts_of(tree),
        products_of(tree),
    )


def _looks_up(node: ast.expr) -> bool:
    """`dict(pairs)[name]`, `name in list(names)`, `list(names).index(name)`: made of something, for one element."""

    def container(made: ast.expr) -> bool:
        return (
            isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id in _CONTAINERS
        ) and bool(made.args)

    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, (ast.Slice, ast.Constant)) and container(node.value)
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[-1], (ast.In, ast.NotIn)) and container(node.comparators[-1])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("index", "count", "get") and container(node.func.value)
    return False


_CONTAINERS = frozenset({"dict", "list", "tuple", "set", "frozenset", "sorted"})


def _makes(node: ast.expr) -> bool:
    """A call that computes: no look-up of something that is there, as `list(...)`, `x.size()` and `d.items()` are."""
    return isinstance(node, ast.Call) and _name(node.func) not in _LOOK_UPS


_LOOK_UPS = frozenset(
    {
        "size",
        "stride",
        "keys",
        "values",
        "items",
        "get",
        "list",
        "tuple",
        "dict",
        "sorted",
        "shape",
        "split",
        "chunk",
    }
    | {
        "unbind",
        "unique",
        "topk",
        "max",
        "min",
        "sort",
        "kthvalue",
        "detach",
        "flatten",
        "view",
        "reshape",
        "read",
    }
    | {
        "transpose",
        "permute",
        "squeeze",
        "unsqueeze",
        "expand",
        "state_dict",
        "getattr",
        "vars",
        "globals",
        "locals",
    }
    | {"parameters", "enumerate", "zip", "range", "str", "repr", "format", "readlines"}
)


def _detached(call: ast.Call) -> bool:
    """Whether all that is kept is a number, a text or cut off from its graph; of a choice, both sides."""

    def plain(node: ast.expr) -> bool:
        if isinstance(node, ast.IfExp):
            return plain(node.body) and plain(node.orelse)
        if isinstance(node, ast.Call):
            return _name(node.func) in ("item", "detach", "float", "int", "tolist", "numpy", "str", "len")
        return not isinstance(node, (ast.Name, ast.Attribute, ast.BinOp, ast.Subscript))

    return all(plain(argument) for argument in call.args)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _span(node: ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
