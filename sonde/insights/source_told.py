"""Lines of a loop whose results only people read: they are printed, logged, or looked at after the loop.

Enters: the tree of a file. Leaves: lines. A name that anything else in the loop reads, or that another function reads,
is no such result. And functions that draw random numbers, by the names of what they call.
"""

from __future__ import annotations

import ast

_SHOWS = frozenset(
    {"print", "debug", "info", "warning", "log", "write", "set_postfix", "set_description", "add_scalar"}
)
_OF_CHANCE = (
    "rand",
    "shuffle",
    "noise",
    "jitter",
    "multinomial",
    "bernoulli",
    "dropout",
    "augment",
    "transform",
)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def told_lines(tree: ast.Module) -> set[int]:
    """Lines of assignments to such names."""
    found: set[int] = set()
    elsewhere = _read_by_functions(tree)
    for loop in (node for node in ast.walk(tree) if isinstance(node, _LOOPS)):
        stored: dict[str, list[ast.Assign]] = {}
        other: set[str] = set()
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and all(isinstance(one, ast.Name) for one in node.targets):
                for one in node.targets:
                    if isinstance(one, ast.Name):
                        stored.setdefault(one.id, []).append(node)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                other.add(node.target.id)
        other |= _read(loop)
        for name, made in stored.items():
            if name not in other and name not in elsewhere:
                found |= {
                    line for one in made for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)
                }
    return found


def drawing_functions(tree: ast.Module) -> set[str]:
    """Names of functions that call something named for chance, as `randint` and `RandomCrop` are."""
    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        and any(_chance(node) for node in ast.walk(function) if isinstance(node, (ast.Name, ast.Attribute)))
    }


def _chance(node: ast.Name | ast.Attribute) -> bool:
    name = (node.attr if isinstance(node, ast.Attribute) else node.id).lower()
    return any(part in name for part in _OF_CHANCE) or name in (
        "rng",
        "choice",
        "choices",
        "uniform",
        "integers",
    )


def _read(node: ast.AST) -> set[str]:
    """Names that are read, but for what is only shown."""
    if isinstance(node, ast.Call) and _called(node) in _SHOWS:
        return set()
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    return {name for child in ast.iter_child_nodes(node) for name in _read(child)}


def _read_by_functions(tree: ast.Module) -> set[str]:
    """Names of which a function reads the one around it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
            own = {n.id for n in names if isinstance(n.ctx, ast.Store)}
            own |= {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
            found |= {n.id for n in names if isinstance(n.ctx, ast.Load)} - own
            found |= {n for g in ast.walk(node) if isinstance(g, (ast.Global, ast.Nonlocal)) for n in g.names}
    return found


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))
