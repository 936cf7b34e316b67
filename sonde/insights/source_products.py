"""What a program's text says of products of products: `update = a @ b`, later `x @ update`, or `(a @ b) @ x`.

Enters: a parsed file. Leaves: pairs of lines, of the first product and of the one that it goes into. Between them may
stand what works on each number apart: a scaling, a transposition.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

_CALLS = ("mm", "matmul")


def products_of(tree: ast.Module) -> tuple[tuple[int, int], ...]:
    found: set[tuple[int, int]] = set()
    for scope in ast.walk(tree):
        if not isinstance(scope, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        own = list(_own(scope))
        made = {
            target.id: product.lineno
            for node in own
            if isinstance(node, ast.Assign)
            for product in _result(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        reads = Counter(
            n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        )
        into: list[tuple[str, int]] = []
        for node in own:
            for operand in _operands(node):
                for part in _plain(operand):
                    if isinstance(part, ast.Name) and made.get(part.id, part.lineno) < part.lineno:
                        into.append((part.id, part.lineno))
                    elif _operands(part):
                        found.add((part.lineno, operand.lineno))
        often = Counter(name for name, _ in into)  # what is read for something else has to be made
        found |= {(made[name], line) for name, line in into if often[name] == reads[name]}
    return tuple(sorted(found))


def _operands(node: ast.AST) -> list[ast.expr]:
    """Of a product of two matrices; empty for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
        of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
        return list(node.args) if of_torch else [node.func.value, *node.args]
    return []


def _plain(node: ast.expr) -> Iterator[ast.expr]:
    """The node, or what it is a scaled or transposed form of."""
    yield node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield from _plain(node.left)
        yield from _plain(node.right)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield from _plain(node.value)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("t", "transpose")
    ):
        yield from _plain(node.func.value)


def _result(node: ast.expr) -> Iterator[ast.expr]:
    return (part for part in _plain(node) if _operands(part))


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _own(node)
