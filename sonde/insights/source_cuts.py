"""What a program's text says of values of which only pieces are read: `x = f(y)`, and later nothing but `x[i]`.

Enters: a parsed file. Leaves: the line that makes such a value and the lines that take pieces of it. A name that is
read in any other way, or in a function inside, is none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_SHAPE = ("shape", "size", "dim", "ndim", "dtype", "device", "numel")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Cut:
    """`looped`: made out of itself in a loop, so that pieces are taken of what the last turn made."""

    made: int
    kept: tuple[int, ...]
    looped: bool
    first: bool  # every piece is taken along the first dimension
    values: int = 1  # that the statement makes


def cuts_of(tree: ast.Module) -> tuple[Cut, ...]:
    """All such values of a file; names that one statement makes together are one, if all of them are cut."""
    found: list[Cut] = []
    for scope in [
        tree,
        *(n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))),
    ]:
        found += _of_scope(scope)
    return tuple(found)


def _of_scope(scope: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Cut]:
    own = list(_own(scope))
    up = {child: node for node in own for child in ast.iter_child_nodes(node)}
    inner = {n.id for f in own if isinstance(f, _FUNCTIONS) for n in ast.walk(f) if isinstance(n, ast.Name)}
    last: dict[str, ast.Assign] = {}
    stores: dict[str, int] = {}
    for node in own:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] = stores.get(node.id, 0) + 1
        elif isinstance(node, ast.Assign):
            for name in _targets(node):
                stores[name] = stores.get(name, 0) - 1  # what is stored in another way stays above 0
                if name not in last or node.lineno > last[name].lineno:
                    last[name] = node
    groups: dict[ast.Assign, list[str]] = {}
    for name, statement in last.items():
        groups.setdefault(statement, []).append(name)
    for statement, names in groups.items():
        if not isinstance(statement.value, ast.Call):
            continue
        if any(name in inner or stores[name] for name in names):
            continue
        if cut := _cut(statement, set(names), own, up):
            yield cut


def _cut(
    statement: ast.Assign, names: set[str], own: list[ast.AST], up: dict[ast.AST, ast.AST]
) -> Cut | None:
    pieces: list[ast.Subscript] = []
    itself, read = False, set()
    for node in own:
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names):
            continue
        parent = up.get(node)
        if _within(node, statement, up):
            itself = True
        elif any(_makes(node, name, up) for name in names):
            continue  # an earlier value of the name
        elif (isinstance(parent, ast.Attribute) and parent.attr in _SHAPE) or _is_len(parent):
            continue
        elif (
            isinstance(parent, ast.Subscript)
            and parent.value is node
            and isinstance(parent.ctx, ast.Load)
            and not (isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str))
            and parent.lineno > (statement.end_lineno or statement.lineno)
        ):
            pieces.append(parent)
            read.add(node.id)
        else:
            return None
    lines = {piece.lineno for piece in pieces}
    if not pieces or read != names or _others(own, pieces, lines):
        return None
    loops = [n for n in _above(statement, up) if isinstance(n, (ast.For, ast.While))]
    looped = itself and bool(loops) and not any(_within(piece, loops[0], up) for piece in pieces)
    first = not any(isinstance(piece.slice, ast.Tuple) for piece in pieces)
    return Cut(statement.lineno, tuple(sorted(lines)), looped, first, len(names))


def _others(own: list[ast.AST], pieces: list[ast.Subscript], lines: set[int]) -> bool:
    """Whether something else is indexed on these lines: then a call cannot be told to be the piece's."""
    mine = set(pieces)
    return any(
        isinstance(node, ast.Subscript)
        and node not in mine
        and node.lineno in lines
        and not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape")
        for node in own
    )


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function, those of functions inside left out."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, _FUNCTIONS):
            yield from _own(node)


def _targets(statement: ast.Assign) -> list[str]:
    if len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _makes(node: ast.AST, name: str, up: dict[ast.AST, ast.AST]) -> bool:
    """Whether the node stands in a statement that gives the name its value."""
    return any(isinstance(n, ast.Assign) and name in _targets(n) for n in _above(node, up))


def _is_len(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


def _above(node: ast.AST, up: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while (above := up.get(node)) is not None:
        yield above
        node = above


def _within(node: ast.AST, outer: ast.AST, up: dict[ast.AST, ast.AST]) -> bool:
    return any(n is outer for n in _above(node, up))
